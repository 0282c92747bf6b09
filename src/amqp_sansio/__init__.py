"""AMQP before 1.0 as pure state machines: octets and calls in; octets, events and one deadline out."""
