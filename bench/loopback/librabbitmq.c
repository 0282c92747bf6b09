/* The ceiling: librabbitmq, in C.  AMQP_BENCH_URL=... ./librabbitmq CASE COUNT prints what `measure.py` does. */

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODY = 100, PREFETCH = 100 };
static amqp_connection_state_t connection;

static void must(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "librabbitmq: %s\n", what);
        exit(1);
    }
}

static void answered(const char *what) { must(amqp_get_rpc_reply(connection).reply_type == AMQP_RESPONSE_NORMAL, what); }

static double microseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void publish(void) {
    static char body[BODY];
    amqp_bytes_t octets = {BODY, body};
    amqp_basic_properties_t none = {0};
    int said = amqp_basic_publish(connection, 1, amqp_empty_bytes, amqp_cstring_bytes("bench"), 0, 0, &none, octets);
    must(said == AMQP_STATUS_OK, "publish");
}

static long confirmed(void) {
    amqp_frame_t frame;
    must(amqp_simple_wait_frame(connection, &frame) == AMQP_STATUS_OK, "no confirm");
    must(frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_ACK_METHOD, "not a confirm");
    amqp_basic_ack_t *ack = frame.payload.method.decoded;
    long tag = ack->delivery_tag;
    amqp_maybe_release_buffers(connection);
    return tag;
}

static void consume(void) {
    amqp_envelope_t envelope;
    amqp_rpc_reply_t reply = amqp_consume_message(connection, &envelope, NULL, 0);
    must(reply.reply_type == AMQP_RESPONSE_NORMAL && envelope.message.body.len == BODY, "consume");
    must(amqp_basic_ack(connection, 1, envelope.delivery_tag, 0) == AMQP_STATUS_OK, "ack");
    amqp_destroy_envelope(&envelope);
    amqp_maybe_release_buffers(connection);
}

int main(int number, char **words) {
    must(number == 3, "CASE COUNT");
    int count = atoi(words[2]);
    struct amqp_connection_info where;
    must(amqp_parse_url(getenv("AMQP_BENCH_URL"), &where) == AMQP_STATUS_OK, "the URL");
    connection = amqp_new_connection();
    must(amqp_socket_open(amqp_tcp_socket_new(connection), where.host, where.port) == AMQP_STATUS_OK, "nobody there");
    amqp_rpc_reply_t login =
        amqp_login(connection, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, where.user, where.password);
    must(login.reply_type == AMQP_RESPONSE_NORMAL, "login");
    amqp_channel_open(connection, 1);
    answered("channel.open");
    amqp_bytes_t queue = amqp_cstring_bytes("bench");
    amqp_queue_declare(connection, 1, queue, 0, 0, 0, 0, amqp_empty_table);
    answered("queue.declare");
    amqp_basic_qos(connection, 1, 0, PREFETCH, 0);
    answered("basic.qos");
    int confirms = !strcmp(words[1], "confirmed");
    if (confirms) {
        amqp_confirm_select(connection, 1);
        answered("confirm.select");
    }
    double cpu = microseconds(CLOCK_PROCESS_CPUTIME_ID), wall = microseconds(CLOCK_MONOTONIC);
    if (!strcmp(words[1], "consume")) {
        amqp_basic_consume(connection, 1, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
        answered("basic.consume");
        for (int each = 0; each < count; each++)
            consume();
    } else {
        for (int each = 1; each <= count; each++) {
            publish();
            must(!confirms || confirmed() == each, "another one is confirmed");
        }
        amqp_queue_declare(connection, 1, queue, 1, 0, 0, 0, amqp_empty_table); /* a barrier */
        answered("queue.declare");
    }
    cpu = microseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = microseconds(CLOCK_MONOTONIC) - wall;
    printf("%f %f\n", cpu / count, wall / count);
    amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(connection);
    return 0;
}
