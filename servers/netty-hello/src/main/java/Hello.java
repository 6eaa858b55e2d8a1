import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;

/**
 * Answers every request with "Hello World\n" on 127.0.0.1 and the port given as first argument.
 *
 * <p>It uses only what every netty from the first 4.1 on offers. One thread serves, and connections stay open.
 */
public final class Hello extends SimpleChannelInboundHandler<HttpObject> {
    private static final byte[] BODY = "Hello World\n".getBytes(StandardCharsets.US_ASCII);

    public static void main(String[] arguments) throws InterruptedException {
        EventLoopGroup loop = new NioEventLoopGroup(1);
        ServerBootstrap bootstrap = new ServerBootstrap();
        bootstrap.group(loop).channel(NioServerSocketChannel.class);
        bootstrap.childHandler(new ChannelInitializer<SocketChannel>() {
            @Override
            protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(new HttpServerCodec(), new Hello());
            }
        });
        int port = Integer.parseInt(arguments[0]);
        bootstrap.bind("127.0.0.1", port).sync().channel().closeFuture().sync();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        // A request comes as its head and its end; the answer is due at the end.
        if (message instanceof LastHttpContent) {
            FullHttpResponse response = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(BODY));
            response.headers().set("Content-Type", "text/plain");
            response.headers().set("Content-Length", String.valueOf(BODY.length));
            context.write(response);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        // A client that goes away in the middle of a request is no concern of this server.
        context.close();
    }
}
