internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension Response {
    /// How long the client may take to read the answer before the connection is cut.
    private static let lingerTime = TimeAmount.seconds(5)

    /// The same answer as the last one on its connection.
    ///
    /// The rest of the request may still be on its way. Closing at once would reset the connection, and the reset could overtake the
    /// answer; so only the sending half is closed, nothing more is let in, and the connection ends when the client has closed its side
    /// or after five seconds, which is long enough for a client on a busy machine to look up from what it sends.
    public func endingConnection(of context: ServingRequestContext) -> Response {
        var response = self
        let body = response.body
        let channel = context.channel
        channel.triggerUserOutboundEvent(ConnectionGuardHandler.LetNothingIn(), promise: nil)
        response.headers[.connection] = "close"
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.scheduleTask(in: Self.lingerTime) { channel.close(promise: nil) }
        }
        return response
    }
}
