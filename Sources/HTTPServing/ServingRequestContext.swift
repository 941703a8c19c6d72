internal import Foundation
public import Hummingbird
public import NIOCore

/// What travels with a request through guards, web services and console.
public struct ServingRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection the request came on: what closes when a request is refused.
    public let channel: any Channel
    /// When the head of the request had arrived.
    public let started: ContinuousClock.Instant
    /// What the request is known by, a UUID in small letters: the `uuid` of its error if it fails.
    public let requestID: String
    /// Whether HEAD was sent, which is answered as GET is.
    public internal(set) var isHead = false

    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        started = .now
        requestID = UUID().uuidString.lowercased()
    }
}
