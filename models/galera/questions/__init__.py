"""Questions that only Galera answers: the size of fragments and of the gcache."""
