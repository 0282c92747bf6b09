"""What knows no AMQP: machines, values, serial numbers, buffers, deadlines."""
