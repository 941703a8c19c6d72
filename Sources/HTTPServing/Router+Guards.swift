public import Hummingbird

extension Router where Context == ServingRequestContext {
    /// Adds everything that stands before every route: timing, security headers, compression, answers for errors, and the guards of host and origin.
    ///
    /// To be called before any route is added. Goes with ``HummingbirdCore/HTTPServerBuilder/guardedHTTP1()``.
    public func addGuards(trusting trusted: TrustedSites) {
        add(middleware: HeadResponses())
        add(middleware: ServerTiming())
        add(middleware: SecurityHeaders())
        add(middleware: Compression())
        add(middleware: FailureReporter())
        add(middleware: HostGuard(trusting: trusted))
        add(middleware: OriginGuard(trusting: trusted))
    }
}
