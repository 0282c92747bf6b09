import java.util.Arrays;
import javax.jms.Connection;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.XAConnection;
import javax.jms.XASession;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.apache.qpid.client.AMQConnectionURL;
import org.apache.qpid.client.XAConnectionImpl;

/** Distributed transactions, as a transaction manager drives them through the XAResource of the client. */
final class Branches {
    private Branches() {}

    /** A branch by its number. */
    private static final class Branch implements Xid {
        private final byte[] global;
        private final byte[] qualifier = {1, 2};

        Branch(int number) {
            global = ("global " + number).getBytes();
        }

        @Override
        public int getFormatId() {
            return 7;
        }

        @Override
        public byte[] getGlobalTransactionId() {
            return global;
        }

        @Override
        public byte[] getBranchQualifier() {
            return qualifier;
        }

        boolean is(Xid other) {
            return other.getFormatId() == 7
                    && Arrays.equals(global, other.getGlobalTransactionId())
                    && Arrays.equals(qualifier, other.getBranchQualifier());
        }
    }

    /** Something that may end with an XAException. */
    private interface Step {
        void run() throws XAException;
    }

    private static XAConnection connect(String url) throws Exception {
        XAConnection connection = new XAConnectionImpl(new AMQConnectionURL(url));
        connection.start();
        return connection;
    }

    static void run(String url, String... more) throws Exception {
        Connection watcher = Jms.connect(url);
        Session looking = watcher.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = Jms.queue(looking, "jms-xa");
        XAConnection connection = connect(url);
        XASession session = connection.createXASession();
        XAResource resource = session.getXAResource();
        MessageProducer producer = session.getSession().createProducer(queue);

        Branch branch = new Branch(0);
        resource.start(branch, XAResource.TMNOFLAGS);
        producer.send(session.createTextMessage("two phases"));
        resource.end(branch, XAResource.TMSUCCESS);
        Jms.say("prepare", resource.prepare(branch) == XAResource.XA_OK, Jms.waiting(looking, queue));
        resource.commit(branch, false);
        Jms.say("commit", Jms.waiting(looking, queue));

        branch = new Branch(1);
        resource.start(branch, XAResource.TMNOFLAGS);
        producer.send(session.createTextMessage("one phase"));
        resource.end(branch, XAResource.TMSUCCESS);
        resource.commit(branch, true);
        Jms.say("one phase", Jms.waiting(looking, queue));

        branch = new Branch(2);
        resource.start(branch, XAResource.TMNOFLAGS);
        producer.send(session.createTextMessage("never"));
        resource.end(branch, XAResource.TMSUCCESS);
        resource.rollback(branch);
        Jms.say("rollback", Jms.waiting(looking, queue));

        branch = new Branch(3);
        resource.start(branch, XAResource.TMNOFLAGS);
        resource.end(branch, XAResource.TMSUCCESS);
        int vote = resource.prepare(branch);
        Jms.say("nothing to do", vote == XAResource.XA_OK || vote == XAResource.XA_RDONLY);
        if (vote == XAResource.XA_OK) {
            resource.commit(branch, false);
        }

        branch = new Branch(4);
        MessageConsumer consumer = session.getSession().createConsumer(queue);
        resource.start(branch, XAResource.TMNOFLAGS);
        Jms.say("received", Jms.text(consumer));
        resource.end(branch, XAResource.TMSUCCESS);
        resource.prepare(branch);
        resource.rollback(branch);
        consumer.close();
        Jms.say("brought back", Jms.settled(looking, queue, 2));

        branch = new Branch(5);
        resource.setTransactionTimeout(120);
        resource.start(branch, XAResource.TMNOFLAGS);
        Jms.say("timeout", resource.getTransactionTimeout());
        producer.send(session.createTextMessage("suspended"));
        resource.end(branch, XAResource.TMSUSPEND);
        producer.send(session.createTextMessage("outside"));
        resource.start(branch, XAResource.TMRESUME);
        resource.end(branch, XAResource.TMSUCCESS);
        resource.prepare(branch);
        connection.close(); // and whoever prepared it is gone
        Jms.say("in doubt", Jms.waiting(looking, queue));

        connection = connect(url);
        resource = connection.createXASession().getXAResource();
        int found = 0;
        for (Xid each : resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN)) {
            found += branch.is(each) ? 1 : 0;
        }
        Jms.say("recovered", found);
        resource.commit(branch, false);
        Jms.say("committed", Jms.waiting(looking, queue));
        Jms.say(Jms.texts(looking.createConsumer(queue), 4));
        connection.close();
        watcher.close();
    }

    /** What a transaction manager must not do is told by the error codes of XA. */
    static void wrong(String url, String... more) throws Exception {
        XAConnection connection = connect(url);
        XAResource resource = connection.createXASession().getXAResource();
        told("commit unknown", () -> resource.commit(new Branch(10), false));
        told("prepare unknown", () -> resource.prepare(new Branch(11)));
        told("rollback unknown", () -> resource.rollback(new Branch(12)));
        told("forget unknown", () -> resource.forget(new Branch(13)));
        told("end unknown", () -> resource.end(new Branch(14), XAResource.TMSUCCESS));
        XAResource again = connection.createXASession().getXAResource();
        Branch branch = new Branch(15);
        again.start(branch, XAResource.TMNOFLAGS);
        XAResource other = connection.createXASession().getXAResource();
        told("start twice", () -> other.start(branch, XAResource.TMNOFLAGS));
        told("prepare active", () -> connectionResource(connection).prepare(branch));
        told("end failing", () -> again.end(branch, XAResource.TMFAIL));
        told("prepare failed", () -> connectionResource(connection).prepare(branch));
        told("rollback failed", () -> connectionResource(connection).rollback(branch));
        connection.close();
    }

    private static XAResource connectionResource(XAConnection connection) {
        try {
            return connection.createXASession().getXAResource();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private static void told(String what, Step step) {
        try {
            step.run();
            Jms.say(what, "passed");
        } catch (XAException error) {
            Jms.say(what, error.errorCode);
        } catch (RuntimeException error) {
            Jms.say(what, error.getClass().getSimpleName());
        }
    }
}
