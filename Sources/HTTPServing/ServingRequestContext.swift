public import Hummingbird
public import NIOCore

/// What travels with a request through guards, web services and console.
public struct ServingRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection the request came on: what closes when a request is refused.
    public let channel: any Channel
    /// When the head of the request had arrived.
    public let started: ContinuousClock.Instant

    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        started = .now
    }
}
