import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.qpid.server.filter.Filterable;
import org.apache.qpid.server.filter.JMSSelectorFilter;
import org.apache.qpid.server.message.AMQMessageHeader;

/** Answers each line (selector TAB properties) with what Broker-J selects: true, false, refused or raised. */
public final class Selectors {
    private Selectors() {}

    private static String text(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }

    private static Object value(String kind, String value) {
        switch (kind) {
            case "bool": return Boolean.valueOf(value);
            case "int": return Integer.valueOf(value);
            case "long": return Long.valueOf(value);
            case "double": return Double.valueOf(value);
            default: return text(value);
        }
    }

    private static Filterable message(Map<String, Object> properties) {
        ClassLoader loader = Selectors.class.getClassLoader();
        Object header = Proxy.newProxyInstance(loader, new Class<?>[] {AMQMessageHeader.class}, (proxy, method, arguments) -> {
            switch (method.getName()) {
                case "getHeader": return properties.get(arguments[0]);
                case "containsHeader": return properties.containsKey(arguments[0]);
                case "getPriority": return (byte) 4;
                default: return method.getReturnType() == long.class ? (Object) 0L : null;
            }
        });
        return (Filterable) Proxy.newProxyInstance(loader, new Class<?>[] {Filterable.class}, (proxy, method, arguments) -> {
            switch (method.getName()) {
                case "getMessageHeader": return header;
                case "getHeader": return properties.get(arguments[0]);
                case "getPriority": return (byte) 4;
                case "isPersistent": case "isRedelivered": return false;
                default: return method.getReturnType() == long.class ? (Object) 0L : null;
            }
        });
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            Map<String, Object> properties = new HashMap<>();
            for (int at = 1; at + 2 < parts.length; at += 3) {
                properties.put(parts[at], value(parts[at + 1], parts[at + 2]));
            }
            String answer;
            try {
                JMSSelectorFilter filter = new JMSSelectorFilter(text(parts[0]));
                try {
                    answer = String.valueOf(filter.matches(message(properties)));
                } catch (RuntimeException | Error error) {
                    answer = "raised " + error.getClass().getSimpleName();
                }
            } catch (Exception | Error error) {
                answer = "refused " + error.getClass().getSimpleName();
            }
            System.out.println(answer);
        }
    }
}
