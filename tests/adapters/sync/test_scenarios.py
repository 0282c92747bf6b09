"""What asyncio and trio do, done by blocking code as well (but to be cancelled, which it cannot be)."""

from __future__ import annotations

import pytest
from tests.adapters.blocking import BlockingLoop
from tests.adapters.floods import *  # noqa: F403
from tests.adapters.scenarios import (  # noqa: F401  # pytest finds them here
    test_a_broker_that_answers_no_attach_times_out_without_heartbeats,
    test_a_broker_that_falls_silent_at_the_end_of_a_session_times_out_without_heartbeats,
    test_a_broker_that_falls_silent_times_out,
    test_a_broker_that_is_gone_whenever_we_want_something_is_not_tried_for_ever,
    test_a_kept_session_goes_on_after_a_cut_and_every_message_is_there_once,
    test_a_lost_session_is_made_again_and_reports_what_is_in_doubt,
    test_a_redirect_from_tls_to_clear_text_is_followed_by_tls_alone,
    test_a_redirect_is_followed,
    test_a_redirect_to_no_host_is_reported,
    test_a_slow_consumer_stops_the_broker_and_memory_stays_flat,
    test_a_wrong_virtual_host_and_a_wrong_password_are_reported_by_the_other_side,
    test_an_alert_of_the_other_side_is_reported,
    test_an_error_that_was_handled_is_not_raised_at_the_end_of_the_block,
    test_by_tls,
    test_calls_on_a_session_that_was_refused_and_never_detached_raise_the_refusal,
    test_errors_reach_the_waiting_caller,
    test_heartbeats_flow_while_nobody_says_anything,
    test_our_own_mistakes_fail_the_pending_calls,
    test_the_end_of_a_block_tells_of_its_own_message_that_was_refused,
    test_there_and_back,
    test_transactions,
    test_what_the_block_raises_is_raised_as_it_is,
    test_without_a_policy_a_loss_is_reported_at_once,
)


@pytest.fixture
def loop() -> BlockingLoop:
    return BlockingLoop()
