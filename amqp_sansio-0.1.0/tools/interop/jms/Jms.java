import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.TreeMap;
import javax.jms.BytesMessage;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.TextMessage;
import org.apache.qpid.client.AMQConnection;

/**
 * What a program that uses JMS does, with the Qpid client for AMQP 0-10: one or more scenarios a run. Each prints its name and
 * facts, one a line, which tests/interop/test_jms.py knows beforehand.
 *
 * <p>java Jms SCENARIO[,SCENARIO...] URL [MORE...]
 */
public final class Jms {
    static final long PATIENCE = 20_000;

    /** A scenario: what is done with the URL of a connection and what else was given. */
    interface Scenario {
        void run(String url, String... more) throws Exception;
    }

    private static final TreeMap<String, Scenario> SCENARIOS = new TreeMap<>();

    static {
        SCENARIOS.put("login", Jms::login);
        SCENARIOS.put("queue", Talks::queue);
        SCENARIOS.put("topic", Talks::topic);
        SCENARIOS.put("durable", Talks::durable);
        SCENARIOS.put("transacted", Talks::transacted);
        SCENARIOS.put("acknowledge", Talks::acknowledge);
        SCENARIOS.put("browse", Talks::browse);
        SCENARIOS.put("messages", Talks::messages);
        SCENARIOS.put("request", Talks::request);
        SCENARIOS.put("selector", Talks::selector);
        SCENARIOS.put("sessions", Talks::sessions);
        SCENARIOS.put("errors", Jms::errors);
        SCENARIOS.put("idle", Jms::idle);
        SCENARIOS.put("send", Jms::send);
        SCENARIOS.put("receive", Jms::receive);
        SCENARIOS.put("reconnect", Jms::reconnect);
        SCENARIOS.put("temporary", Lives::temporary);
        SCENARIOS.put("same-manager", Lives::sameManager);
        SCENARIOS.put("durable-selector", Lives::durableSelector);
        SCENARIOS.put("priority", Lives::priority);
        SCENARIOS.put("replay", Lives::replay);
        SCENARIOS.put("xa", Branches::run);
        SCENARIOS.put("xa-wrong", Branches::wrong);
    }

    private Jms() {}

    public static void main(String[] arguments) {
        try {
            String[] more = Arrays.copyOfRange(arguments, 2, arguments.length);
            for (String name : arguments[0].split(",")) {
                say("==", name);
                SCENARIOS.get(name).run(arguments[1], more);
            }
        } catch (Throwable error) {
            error.printStackTrace();
            say("FAILED", error);
            System.exit(1);
        }
        System.exit(0); // whatever threads the client has left
    }

    static void say(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        System.out.println(line);
        System.out.flush();
    }

    static Connection connect(String url) throws Exception {
        Connection connection = new AMQConnection(url);
        connection.start();
        return connection;
    }

    static Queue queue(Session session, String name) throws JMSException {
        return session.createQueue("ADDR:" + name + "; {create: always}");
    }

    static Message next(MessageConsumer consumer) throws JMSException {
        Message message = consumer.receive(PATIENCE);
        if (message == null) {
            throw new JMSException("nothing came");
        }
        return message;
    }

    static String text(MessageConsumer consumer) throws JMSException {
        return ((TextMessage) next(consumer)).getText();
    }

    static List<String> texts(MessageConsumer consumer, int count) throws JMSException {
        List<String> found = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            found.add(text(consumer));
        }
        return found;
    }

    static int waiting(Session session, Queue queue) throws JMSException {
        QueueBrowser browser = session.createBrowser(queue);
        try {
            return Collections.list((Enumeration<?>) browser.getEnumeration()).size();
        } finally {
            browser.close();
        }
    }

    /** How many wait, once they are so many: what a client gives back when a consumer closes is not awaited by it. */
    static int settled(Session session, Queue queue, int expected) throws Exception {
        int found = waiting(session, queue);
        for (long until = System.currentTimeMillis() + PATIENCE; found != expected && System.currentTimeMillis() < until; ) {
            Thread.sleep(20);
            found = waiting(session, queue);
        }
        return found;
    }

    // --- scenarios ------------------------------------------------------------------------------------------------------------

    private static void login(String url, String... more) throws Exception {
        try {
            Connection connection = connect(url);
            connection.createSession(false, Session.AUTO_ACKNOWLEDGE).close();
            connection.close();
            say("let in");
        } catch (Exception error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            say("refused:", cause.getMessage());
        }
    }

    /** What the broker refuses is told by an exception, and the connection goes on. */
    private static void errors(String url, String... more) throws Exception {
        Connection connection = connect(url);
        Connection other = connect(url);
        String[] addresses = {
            "ADDR:nowhere", "ADDR:amq.nowhere; {create: always, node: {type: topic}}",
            "ADDR:amq.nowhere/key; {create: always, node: {type: topic, x-declare: {type: strange}}}",
        };
        for (String address : addresses) {
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            try {
                session.createConsumer(session.createQueue(address));
                say("let pass", address);
            } catch (JMSException error) {
                say("refused", address);
                say(error.getMessage().replaceAll("(?s)\\s+", " "));
            }
        }
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        session.createConsumer(session.createQueue("BURL:direct://amq.direct//jms-mine?exclusive='true'&autodelete='true'"));
        Session second = other.createSession(false, Session.AUTO_ACKNOWLEDGE);
        try {
            second.createConsumer(second.createQueue("BURL:direct://amq.direct//jms-mine?exclusive='true'&autodelete='true'"));
            say("let pass", "exclusive");
        } catch (JMSException error) {
            say("refused", "exclusive");
            say(error.getMessage().replaceAll("(?s)\\s+", " "));
        }
        Session third = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(third, "jms-errors");
        third.createProducer(queue).send(third.createTextMessage("goes on"));
        say(text(third.createConsumer(queue)));
        connection.close();
        other.close();
    }

    /** Longer than either side may be silent. */
    private static void idle(String url, String... more) throws Exception {
        Connection connection = connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Thread.sleep(Long.parseLong(more[0]));
        Queue queue = queue(session, "jms-idle");
        session.createProducer(queue).send(session.createTextMessage("alive"));
        say(text(session.createConsumer(queue)));
        connection.close();
    }

    /** For somebody who speaks another language. */
    private static void send(String url, String... more) throws Exception {
        Connection connection = connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(queue(session, more[0]));
        MapMessage map = session.createMapMessage();
        map.setInt("int", 1);
        map.setString("string", "zwei ü");
        map.setBytes("bytes", new byte[] {1, 2, 3});
        map.setDouble("double", 3.5);
        map.setStringProperty("property", "ß");
        producer.send(map, DeliveryMode.PERSISTENT, 7, 0);
        TextMessage text = session.createTextMessage("grün");
        text.setJMSCorrelationID("c");
        producer.send(text, DeliveryMode.NON_PERSISTENT, 2, 0);
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(new byte[] {0, 1, 2});
        producer.send(bytes);
        connection.close();
        say("sent");
    }

    /** From somebody who speaks another language. */
    private static void receive(String url, String... more) throws Exception {
        Connection connection = connect(url);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(queue(session, more[0]));
        for (int count = Integer.parseInt(more[1]); count > 0; count--) {
            Message message = next(consumer);
            if (message instanceof TextMessage) {
                say("text", ((TextMessage) message).getText(), message.getJMSPriority(), message.getJMSCorrelationID());
            } else if (message instanceof MapMessage) {
                MapMessage map = (MapMessage) message;
                for (Object name : new java.util.TreeSet<>(Collections.list((Enumeration<?>) map.getMapNames()))) {
                    say("map", name, map.getObject((String) name));
                }
            } else {
                BytesMessage bytes = (BytesMessage) message;
                say("bytes", bytes.getBodyLength(), message.getStringProperty("property"));
            }
        }
        connection.close();
    }

    /** Sends in transactions of ten while the broker goes and comes; prints each that was committed. A URL with failover. */
    private static void reconnect(String url, String... more) throws Exception {
        Connection connection = connect(url);
        Session session = null;
        MessageProducer producer = null;
        int most = Integer.parseInt(more[1]);
        for (int batch = 0; batch < most; ) {
            try {
                if (session == null) {
                    session = connection.createSession(true, Session.SESSION_TRANSACTED);
                    producer = session.createProducer(session.createQueue("ADDR:" + more[0]));
                }
                for (int number = 0; number < 10; number++) {
                    producer.send(session.createTextMessage(batch + "." + number), DeliveryMode.PERSISTENT, 4, 0);
                }
                session.commit();
                say("committed", batch);
                batch++;
            } catch (JMSException error) {
                say("again", batch, error.getMessage().replaceAll("\\s+", " "));
                if (session != null) { // it may be of no more use, so another one takes its place on the new connection
                    try {
                        session.close();
                    } catch (JMSException also) {
                        Thread.sleep(50);
                    }
                }
                session = null;
            }
            if (System.in.read() < 0) { // a line of the test for each step
                break;
            }
        }
        connection.close();
        say("done");
    }
}
