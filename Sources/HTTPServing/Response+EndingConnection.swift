internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension Response {
    /// The same answer, as the last one on its connection. No further input is read, see ``ConnectionGuardHandler``.
    public func endingConnection(of context: ServingRequestContext) -> Response {
        var response = self
        response.headers[.connection] = "close"
        context.channel.triggerUserOutboundEvent(ConnectionGuardHandler.EndWithAnswer(), promise: nil)
        return response
    }
}
