import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TemporaryQueue;
import javax.jms.TextMessage;
import javax.jms.Topic;
import javax.jms.XAConnection;
import javax.transaction.xa.XAResource;
import org.apache.qpid.client.AMQConnectionURL;
import org.apache.qpid.client.XAConnectionImpl;

/** What lives longer than a session, and who comes first: temporary queues, resource managers, durable subscribers, consumers. */
final class Lives {
    private Lives() {}

    /** A temporary queue is there until its connection closes, whatever becomes of the session that made it. */
    static void temporary(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session first = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        TemporaryQueue queue = first.createTemporaryQueue();
        Session second = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        second.createProducer(queue).send(second.createTextMessage("kept"));
        Jms.say(Jms.text(first.createConsumer(queue)));
        second.createProducer(queue).send(second.createTextMessage("kept, too"));
        first.close();
        Connection other = Jms.connect(url);
        Session foreign = other.createSession(false, Session.AUTO_ACKNOWLEDGE);
        foreign.createProducer(foreign.createQueue("ADDR:" + queue.getQueueName())).send(foreign.createTextMessage("foreign"));
        foreign.close(); // which waits until it is there
        foreign = other.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = second.createConsumer(second.createQueue("ADDR:" + queue.getQueueName()));
        Jms.say(Jms.texts(consumer, 2));
        connection.close();
        Jms.say(gone(other, queue.getQueueName()) ? "gone" : "still there");
        other.close();
    }

    /** Whether a queue goes away, sooner or later: the end of another connection is not awaited by anybody. */
    private static boolean gone(Connection connection, String queue) throws Exception {
        for (long until = System.currentTimeMillis() + Jms.PATIENCE; System.currentTimeMillis() < until; ) {
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            try {
                session.createProducer(session.createQueue("ADDR:" + queue));
            } catch (JMSException error) {
                return true;
            } finally {
                session.close();
            }
        }
        return false;
    }

    /** Two connections to one broker lead to one resource manager. */
    static void sameManager(String url, String... more) throws Exception {
        XAConnection one = new XAConnectionImpl(new AMQConnectionURL(url));
        XAConnection two = new XAConnectionImpl(new AMQConnectionURL(url));
        XAResource first = one.createXASession().getXAResource();
        Jms.say("same connection", first.isSameRM(one.createXASession().getXAResource()));
        Jms.say("other connection", first.isSameRM(two.createXASession().getXAResource()));
        one.close();
        two.close();
    }

    /** A durable subscriber that comes again with another selector is another subscription: what waited for the old one is gone. */
    static void durableSelector(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("durable.selected");
        MessageProducer producer = session.createProducer(topic);
        for (String selector : new String[] {"n > 1", "n > 1", "n < 2"}) {
            MessageConsumer subscriber = session.createDurableSubscriber(topic, "selected", selector, false);
            StringBuilder found = new StringBuilder();
            for (int n = 0; n < 4; n++) {
                send(session, producer, "here " + n, n);
            }
            for (Message message = subscriber.receive(1000); message != null; message = subscriber.receive(200)) {
                found.append(found.length() == 0 ? "" : ", ").append(((TextMessage) message).getText());
            }
            Jms.say(selector + ":", found);
            subscriber.close();
            for (int n = 0; n < 4; n++) {
                send(session, producer, "away " + n, n);
            }
        }
        session.unsubscribe("selected");
        connection.close();
    }

    private static void send(Session session, MessageProducer producer, String text, int n) throws JMSException {
        TextMessage message = session.createTextMessage(text);
        message.setIntProperty("n", n);
        producer.send(message);
    }

    /** Messages go to the consumer of the highest priority, whichever came first, and to the other when that one is gone. */
    static void priority(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(Jms.queue(session, "jms-priority"));
        for (int first : new int[] {1, 10}) {
            MessageConsumer one = consumer(connection, first);
            MessageConsumer two = consumer(connection, 11 - first);
            MessageConsumer low = first == 1 ? one : two;
            MessageConsumer high = first == 1 ? two : one;
            Jms.say("nothing yet", one.receive(50), two.receive(50)); // from now on both have credit
            for (int number = 0; number < 4; number++) {
                producer.send(session.createTextMessage("" + number));
            }
            Jms.say("high", Jms.texts(high, 4), "low", low.receive(200));
            high.close();
            producer.send(session.createTextMessage("last"));
            Jms.say("low", Jms.texts(low, 1));
            low.close();
        }
        connection.close();
    }

    private static MessageConsumer consumer(Connection connection, int priority) throws JMSException {
        return consumer(connection, "jms-priority", "x-priority", priority);
    }

    private static MessageConsumer consumer(Connection connection, String queue, String argument, int value) throws JMSException {
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        String arguments = "{link: {x-subscribes: {arguments: {" + argument + ": " + value + "}}}}";
        return session.createConsumer(session.createQueue("ADDR:" + queue + "; " + arguments));
    }

    /** A consumer with a replay period gets what arrived in so many seconds before it, and later; the rest stays for others. */
    static void replay(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(Jms.queue(session, "jms-replay"));
        producer.send(session.createTextMessage("before"));
        MessageConsumer now = consumer(connection, "jms-replay", "x-qpid-replay-period", 0);
        Jms.say("now", now.receive(300));
        producer.send(session.createTextMessage("after"));
        Jms.say("now", Jms.texts(now, 1));
        now.close();
        MessageConsumer hour = consumer(connection, "jms-replay", "x-qpid-replay-period", 3600);
        Jms.say("hour", Jms.texts(hour, 1));
        hour.close();
        connection.close();
    }
}
