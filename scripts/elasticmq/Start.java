// Starts ElasticMQ in memory on the port that is the only argument, until it is killed.

import org.elasticmq.RelaxedSQSLimits$;
import org.elasticmq.rest.sqs.SQSRestServerBuilder;

class Start {
  public static void main(String[] arguments) throws Exception {
    SQSRestServerBuilder.withInterface("127.0.0.1")
        .withPort(Integer.parseInt(arguments[0]))
        // The log's contract has messages that are larger than AWS takes.
        .withSQSLimits(RelaxedSQSLimits$.MODULE$)
        .start()
        .waitUntilStarted();
    Thread.currentThread().join();
  }
}
