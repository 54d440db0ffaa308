"""What threads of a program have used of a core, and who comes next (EEVDF)."""

from __future__ import annotations

import pytest

from simrep.server.accounts import Accounts, Sleeper

SLICE = 1.4


class Thread:
    own_s = 0.0
    due_s = 0.0


@pytest.fixture
def accounts() -> Accounts:
    return Accounts()


def entered(accounts: Accounts, count: int) -> list[Thread]:
    threads = [Thread() for _ in range(count)]
    for thread in threads:
        accounts.enter(thread, SLICE)
    return threads


def test_one_that_has_used_less_than_the_mean_comes_next(accounts: Accounts) -> None:
    first, second, third = entered(accounts, 3)
    accounts.use(first, 0.3, SLICE)
    accounts.use(second, 0.2, SLICE)
    assert accounts.first([first, second, third]) is third
    assert accounts.mean_s() == pytest.approx(0.5 / 3)


def test_a_thread_is_as_far_behind_when_it_wakes_as_when_it_fell_asleep(
    accounts: Accounts,
) -> None:
    first, second = entered(accounts, 2)
    accounts.use(first, 0.3, SLICE)
    sleeper = Sleeper(None, 0.0)
    accounts.sleep(second, sleeper)
    assert not sleeper.counted
    assert sleeper.behind_s == pytest.approx(0.15)
    accounts.use(first, 5.0, SLICE)
    accounts.wake(second, sleeper, SLICE)
    assert accounts.mean_s() - second.own_s == pytest.approx(0.15)
    assert accounts.preempts(second, [second], first)


def test_one_that_has_used_more_is_counted_until_the_mean_has_reached_it(
    accounts: Accounts,
) -> None:
    first, second = entered(accounts, 2)
    accounts.use(first, 0.3, SLICE)
    sleeper = Sleeper(None, 0.0)
    accounts.sleep(first, sleeper)
    assert sleeper.counted
    accounts.use(second, 0.1, SLICE)
    assert accounts.mean_s() == pytest.approx(0.2)
    accounts.wake(first, sleeper, SLICE)  # before the others have caught up
    assert first.own_s == pytest.approx(0.3)
    assert not accounts.preempts(first, [first], second)
    accounts.sleep(first, sleeper)
    accounts.use(second, 0.4, SLICE)
    accounts.wake(first, sleeper, SLICE)  # and after
    assert not sleeper.counted
    assert first.own_s == pytest.approx(second.own_s) == pytest.approx(0.5)


def test_when_none_can_run_nobody_has_used_more(accounts: Accounts) -> None:
    first, second = entered(accounts, 2)
    accounts.use(first, 0.3, SLICE)
    late, last = Sleeper(None, 0.0), Sleeper(None, 0.0)
    accounts.sleep(first, late)
    accounts.sleep(second, last)
    assert not late.counted
    [third] = entered(accounts, 1)
    accounts.wake(first, late, SLICE)
    assert first.own_s == pytest.approx(third.own_s)


def test_who_wakes_on_another_core_leaves_nothing_behind(accounts: Accounts) -> None:
    first, second = entered(accounts, 2)
    accounts.use(first, 0.4, SLICE)
    sleeper = Sleeper(None, 0.0)
    accounts.sleep(first, sleeper)  # it has used more than the mean, which still counts it
    assert sleeper.counted
    assert accounts.depart(sleeper) == pytest.approx(-0.2)
    assert accounts.mean_s() == second.own_s


def test_who_has_used_less_and_wakes_on_another_core_is_as_far_behind(accounts: Accounts) -> None:
    first, second = entered(accounts, 2)
    accounts.use(second, 0.4, SLICE)
    sleeper = Sleeper(None, 0.0)
    accounts.sleep(first, sleeper)
    assert accounts.depart(sleeper) == pytest.approx(0.2)
