"""What asyncio and trio do, done by blocking code as well (but to be cancelled, which it cannot be)."""

from __future__ import annotations

import pytest
from tests.adapters.blocking import BlockingLoop
from tests.adapters.floods import *  # noqa: F403
from tests.adapters.scenarios import (  # noqa: F401  # pytest finds them here
    test_a_broker_that_answers_no_attach_is_given_up_without_heartbeats,
    test_a_broker_that_falls_silent_at_the_end_of_a_session_is_given_up_without_heartbeats,
    test_a_broker_that_falls_silent_is_given_up,
    test_a_broker_that_is_gone_whenever_we_want_something_is_not_tried_for_ever,
    test_a_kept_session_goes_on_after_a_cut_and_every_message_is_there_once,
    test_a_lost_session_is_made_again_and_what_is_in_doubt_is_told,
    test_a_redirect_from_tls_to_clear_text_is_followed_by_tls_alone,
    test_a_redirect_is_followed,
    test_a_redirect_to_no_host_is_told,
    test_a_slow_consumer_stops_the_broker_and_memory_stays_flat,
    test_a_wrong_virtual_host_and_a_wrong_password_are_told_by_the_other_side,
    test_an_alert_of_the_other_side_is_told,
    test_an_error_that_was_handled_is_not_raised_at_the_end_of_the_block,
    test_by_tls,
    test_errors_reach_who_waits,
    test_heartbeats_flow_while_nobody_says_anything,
    test_the_end_of_a_block_tells_of_its_own_message_that_was_refused,
    test_there_and_back,
    test_transactions,
    test_what_the_block_raises_is_raised_as_it_is,
    test_what_we_do_wrong_ourselves_is_told_to_who_waits,
    test_who_waits_on_a_session_that_was_refused_and_is_never_detached_hears_the_refusal,
    test_without_a_policy_a_loss_is_told_at_once,
)


@pytest.fixture
def loop() -> BlockingLoop:
    return BlockingLoop()
