"""Members without clients, which are computed on event lists of their own, that nobody else sees.

Nobody takes their row locks but their appliers, and nobody uses their machines but their own few
threads. What others can see of them are the messages that they send; for these alone there are
events in the run, at the times at which a member handles what may have it send something. All
else takes place, in its order, when the member has come so far: at such an event, or when somebody
reads its figures. The parts are those of ``Member`` and of ``models/mysql``, in few words.
"""
