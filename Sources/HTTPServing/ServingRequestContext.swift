internal import Foundation
public import Hummingbird
public import NIOCore

/// The context of a request on its way through guards, web services and console.
public struct ServingRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection of the request. It is closed after some refusals.
    public let channel: any Channel
    /// The time at which the head of the request arrived.
    public let started: ContinuousClock.Instant
    /// The identifier of the request, a lower-case UUID. Error answers return it as `uuid`.
    public let requestID: String
    /// True for HEAD, which is answered like GET.
    public internal(set) var isHead = false

    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        started = .now
        requestID = UUID().uuidString.lowercased()
    }
}
