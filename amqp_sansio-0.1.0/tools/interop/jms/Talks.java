import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import javax.jms.BytesMessage;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.ObjectMessage;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.StreamMessage;
import javax.jms.TemporaryQueue;
import javax.jms.TextMessage;
import javax.jms.Topic;

/** What programs do with JMS while nothing goes wrong. */
final class Talks {
    private Talks() {}

    /** Twenty messages with all that JMS has in headers and properties, half of them persistent, by priority. */
    static void queue(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = Jms.queue(session, "jms-queue");
        MessageProducer producer = session.createProducer(queue);
        for (int number = 0; number < 20; number++) {
            TextMessage message = session.createTextMessage("text " + number + " ü€");
            message.setIntProperty("number", number);
            message.setStringProperty("string", "ß" + number);
            message.setDoubleProperty("double", 1.5);
            message.setFloatProperty("float", 2.5f);
            message.setBooleanProperty("boolean", true);
            message.setLongProperty("long", 1L << 40);
            message.setByteProperty("byte", (byte) -3);
            message.setShortProperty("short", (short) 300);
            message.setJMSCorrelationID("correlation " + number);
            message.setJMSReplyTo(queue);
            message.setJMSType("kind");
            int mode = number % 2 == 0 ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
            producer.send(message, mode, number % 10, number % 3 == 0 ? 3_600_000 : 0);
        }
        producer.send(session.createTextMessage("too old"), DeliveryMode.PERSISTENT, 4, 1);
        Thread.sleep(50);
        MessageConsumer consumer = session.createConsumer(queue);
        List<Integer> order = new ArrayList<>();
        int persistent = 0;
        int expiring = 0;
        for (int count = 0; count < 20; count++) {
            TextMessage message = (TextMessage) Jms.next(consumer);
            int number = message.getIntProperty("number");
            order.add(number);
            persistent += message.getJMSDeliveryMode() == DeliveryMode.PERSISTENT ? 1 : 0;
            expiring += message.getJMSExpiration() > System.currentTimeMillis() ? 1 : 0;
            boolean right =
                    message.getText().equals("text " + number + " ü€")
                            && message.getStringProperty("string").equals("ß" + number)
                            && message.getDoubleProperty("double") == 1.5
                            && message.getFloatProperty("float") == 2.5f
                            && message.getBooleanProperty("boolean")
                            && message.getLongProperty("long") == 1L << 40
                            && message.getByteProperty("byte") == -3
                            && message.getShortProperty("short") == 300
                            && message.getJMSCorrelationID().equals("correlation " + number)
                            && message.getJMSReplyTo() != null
                            && message.getJMSType().equals("kind")
                            && message.getJMSPriority() == number % 10
                            && !message.getJMSRedelivered();
            if (!right) {
                Jms.say("wrong", message);
            }
        }
        Jms.say("order", order);
        Jms.say("persistent", persistent);
        Jms.say("expiring", expiring);
        Jms.say("left", consumer.receive(300));
        connection.close();
    }

    private static Topic news(Session session) throws JMSException {
        return session.createTopic("ADDR:amq.topic/news.#");
    }

    /** Wildcards; a selector; one that wants nothing of its own connection; from two connections, one of them persistent. */
    static void topic(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Connection other = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer all = session.createConsumer(news(session));
        MessageConsumer some = session.createConsumer(news(session), "number > 3");
        MessageConsumer foreign = session.createConsumer(news(session), null, true);
        MessageConsumer sport = session.createConsumer(session.createTopic("ADDR:amq.topic/*.sport"));
        for (Connection publisher : new Connection[] {connection, other}) {
            Session publishing = publisher.createSession(false, Session.AUTO_ACKNOWLEDGE);
            boolean own = publisher == connection;
            for (String key : new String[] {"news.world", "news.sport"}) {
                MessageProducer producer = publishing.createProducer(publishing.createTopic("ADDR:amq.topic/" + key));
                producer.setDeliveryMode(own ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT);
                for (int number = 2; number < 5; number++) {
                    TextMessage message = publishing.createTextMessage((own ? "own " : "other ") + key + " " + number);
                    message.setIntProperty("number", number);
                    producer.send(message);
                }
            }
            publishing.close(); // which waits until all of it is routed
        }
        Jms.say("all", Jms.texts(all, 12));
        Jms.say("some", Jms.texts(some, 4));
        Jms.say("foreign", Jms.texts(foreign, 6));
        Jms.say("sport", Jms.texts(sport, 6));
        Jms.say("more", all.receive(100), some.receive(100), foreign.receive(100), sport.receive(100));
        connection.close();
        other.close();
    }

    /** A durable subscriber has what was published while it was away. */
    static void durable(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("ADDR:amq.topic/durable");
        MessageConsumer subscriber = session.createDurableSubscriber(topic, "name");
        MessageProducer producer = session.createProducer(topic);
        producer.send(session.createTextMessage("here"));
        Jms.say(Jms.text(subscriber));
        subscriber.close();
        producer.send(session.createTextMessage("away"));
        subscriber = session.createDurableSubscriber(topic, "name");
        Jms.say(Jms.text(subscriber));
        subscriber.close();
        session.unsubscribe("name");
        producer.send(session.createTextMessage("gone"));
        subscriber = session.createDurableSubscriber(topic, "name");
        Jms.say(subscriber.receive(300));
        subscriber.close();
        session.unsubscribe("name");
        connection.close();
    }

    /** Nothing of a transaction is seen before its commit; a rollback brings back what was received, marked. */
    static void transacted(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session looking = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
        Queue queue = Jms.queue(session, "jms-tx");
        MessageProducer producer = session.createProducer(queue);
        for (int number = 0; number < 6; number++) {
            producer.send(session.createTextMessage("in " + number));
        }
        Jms.say("before commit", Jms.waiting(looking, queue));
        session.commit();
        Jms.say("after commit", Jms.waiting(looking, queue));
        producer.send(session.createTextMessage("never"));
        MessageConsumer consumer = session.createConsumer(queue);
        Jms.say(Jms.texts(consumer, 3));
        session.rollback();
        Message again = Jms.next(consumer);
        Jms.say(((TextMessage) again).getText(), again.getJMSRedelivered());
        Jms.say(Jms.texts(consumer, 5));
        session.commit();
        Jms.say("left", Jms.waiting(looking, queue));
        producer.send(session.createTextMessage("unfinished"));
        session.close(); // rolls back
        Jms.say("left", Jms.waiting(looking, queue));
        connection.close();
    }

    /** Acknowledged by the client, lazily, and not at all. */
    static void acknowledge(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        Queue queue = Jms.queue(session, "jms-acknowledge");
        MessageProducer producer = session.createProducer(queue);
        for (int number = 0; number < 10; number++) {
            producer.send(session.createTextMessage("" + number));
        }
        MessageConsumer consumer = session.createConsumer(queue);
        Jms.say(Jms.texts(consumer, 2));
        Message last = Jms.next(consumer);
        last.acknowledge();
        Jms.say(Jms.texts(consumer, 2));
        session.recover();
        Message again = Jms.next(consumer);
        Jms.say("recovered", ((TextMessage) again).getText(), again.getJMSRedelivered());
        session.close(); // what was not acknowledged is there for somebody else
        Session lazy = connection.createSession(false, Session.DUPS_OK_ACKNOWLEDGE);
        consumer = lazy.createConsumer(queue);
        Jms.say(Jms.texts(consumer, 7));
        lazy.close();
        Session looking = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Jms.say("left", Jms.waiting(looking, queue));
        connection.close();
    }

    static void browse(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = Jms.queue(session, "jms-browse");
        MessageProducer producer = session.createProducer(queue);
        for (int number = 0; number < 5; number++) {
            TextMessage message = session.createTextMessage("" + number);
            message.setIntProperty("number", number);
            producer.send(message);
        }
        Jms.say("all", Jms.waiting(session, queue));
        QueueBrowser browser = session.createBrowser(queue, "number >= 3");
        Jms.say("some", Collections.list((Enumeration<?>) browser.getEnumeration()).size());
        browser.close();
        Jms.say("still", Jms.waiting(session, queue));
        Jms.say(Jms.texts(session.createConsumer(queue), 5));
        Jms.say("left", Jms.waiting(session, queue));
        connection.close();
    }

    /** Every kind of message, small and large. */
    static void messages(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = Jms.queue(session, "jms-messages");
        MessageProducer producer = session.createProducer(queue);
        MessageConsumer consumer = session.createConsumer(queue);
        MapMessage map = session.createMapMessage();
        map.setInt("int", 1);
        map.setString("string", "zwei ü");
        map.setBytes("bytes", new byte[] {1, 2, 3});
        map.setDouble("double", 3.5);
        map.setFloat("float", 4.5f);
        map.setBoolean("boolean", true);
        map.setChar("char", 'x');
        map.setLong("long", 1L << 50);
        map.setShort("short", (short) -5);
        map.setByte("byte", (byte) 7);
        for (int number = 0; number < 1000; number++) {
            map.setString("key " + number, "value " + number);
        }
        producer.send(map);
        MapMessage found = (MapMessage) Jms.next(consumer);
        Jms.say(
                "map", Collections.list((Enumeration<?>) found.getMapNames()).size(), found.getInt("int"), found.getString("string"),
                Arrays.toString(found.getBytes("bytes")), found.getDouble("double"), found.getFloat("float"),
                found.getBoolean("boolean"), found.getChar("char"), found.getLong("long"), found.getShort("short"),
                found.getByte("byte"), found.getString("key 999"));
        StreamMessage stream = session.createStreamMessage();
        stream.writeInt(5);
        stream.writeString("six");
        stream.writeBytes(new byte[] {7});
        producer.send(stream);
        StreamMessage heard = (StreamMessage) Jms.next(consumer);
        Jms.say("stream", heard.readInt(), heard.readString(), heard.readBytes(new byte[9]));
        for (int size : new int[] {0, 1, 65_535 - 24, 65_536, 300_000, 8 << 20}) {
            byte[] octets = new byte[size];
            for (int at = 0; at < size; at++) {
                octets[at] = (byte) (at * 31 + at / 251);
            }
            BytesMessage bytes = session.createBytesMessage();
            bytes.writeBytes(octets);
            producer.send(bytes);
            BytesMessage back = (BytesMessage) Jms.next(consumer);
            byte[] read = new byte[(int) back.getBodyLength()];
            back.readBytes(read);
            Jms.say("bytes", read.length, Arrays.equals(octets, read));
        }
        producer.send(session.createObjectMessage(new ArrayList<>(Arrays.asList("a", "b"))));
        Jms.say("object", ((ObjectMessage) Jms.next(consumer)).getObject());
        producer.send(session.createTextMessage("x".repeat(1_000_000)));
        Jms.say("text", Jms.text(consumer).length());
        producer.send(session.createMessage());
        Jms.say("empty", Jms.next(consumer) instanceof TextMessage);
        connection.close();
    }

    static void request(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Connection server = Jms.connect(url);
        Session serving = server.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer requests = serving.createConsumer(Jms.queue(serving, "jms-requests"));
        requests.setMessageListener(
                message -> {
                    try {
                        Destination back = message.getJMSReplyTo();
                        TextMessage answer = serving.createTextMessage(((TextMessage) message).getText().toUpperCase());
                        answer.setJMSCorrelationID(message.getJMSCorrelationID());
                        serving.createProducer(back).send(answer);
                    } catch (JMSException error) {
                        Jms.say("FAILED", error);
                    }
                });
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        TemporaryQueue replies = session.createTemporaryQueue();
        MessageConsumer consumer = session.createConsumer(replies);
        MessageProducer producer = session.createProducer(Jms.queue(session, "jms-requests"));
        for (String word : new String[] {"one", "two", "three"}) {
            TextMessage message = session.createTextMessage(word);
            message.setJMSReplyTo(replies);
            message.setJMSCorrelationID(word);
            producer.send(message);
            TextMessage answer = (TextMessage) Jms.next(consumer);
            Jms.say(answer.getJMSCorrelationID(), answer.getText());
        }
        consumer.close();
        replies.delete();
        connection.close();
        server.close();
    }

    /** Two consumers share a queue by what they select; the broker knows nothing of selectors. */
    static void selector(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = Jms.queue(session, "jms-selector");
        MessageProducer producer = session.createProducer(queue);
        for (int number = 0; number < 6; number++) {
            TextMessage message = session.createTextMessage("" + number);
            message.setBooleanProperty("even", number % 2 == 0);
            producer.send(message);
        }
        MessageConsumer even = session.createConsumer(queue, "even = TRUE");
        Jms.say("even", Jms.texts(even, 3), even.receive(100));
        even.close();
        Jms.say("left", Jms.waiting(session, queue));
        Jms.say("odd", Jms.texts(session.createConsumer(queue, "even = FALSE"), 3));
        Jms.say("left", Jms.waiting(session, queue));
        connection.close();
    }

    /** A hundred sessions of one connection, transacted and not, open at the same time. */
    static void sessions(String url, String... more) throws Exception {
        Connection connection = Jms.connect(url);
        List<Session> sessions = new ArrayList<>();
        int received = 0;
        for (int number = 0; number < 100; number++) {
            boolean transacted = number % 2 == 0;
            Session session = connection.createSession(transacted, transacted ? 0 : Session.AUTO_ACKNOWLEDGE);
            Queue queue = session.createTemporaryQueue();
            session.createProducer(queue).send(session.createTextMessage("" + number));
            if (transacted) {
                session.commit();
            }
            received += Jms.text(session.createConsumer(queue)).equals("" + number) ? 1 : 0;
            if (number % 3 == 0) {
                session.close();
            } else {
                sessions.add(session);
            }
        }
        Jms.say("received", received);
        for (Session session : sessions) {
            session.close();
        }
        connection.close();
    }
}
