public import Accounts
public import Hummingbird

extension Router where Context == ServingRequestContext {
    /// Adds the middleware of all routes: timing, security headers, compression, memory limits, error answers, and the guards of host and origin.
    ///
    /// Call it before any route is added. For use with ``responder()`` and ``HummingbirdCore/HTTPServerBuilder/guardedHTTP1()``.
    /// - Parameters:
    ///   - accounts: the accounts whose API tokens list accepted origins; `nil` to accept none from tokens.
    ///   - isSecure: true if connections are encrypted.
    ///   - memory: the memory limit of all requests and answers together.
    public func addGuards(
        trusting trusted: TrustedSites, tokensOf accounts: Accounts? = nil, isSecure: Bool = false, memory: MemoryBudget = MemoryBudget()
    ) {
        if isSecure { add(middleware: SecureScheme()) }
        add(middleware: ServerTiming())
        add(middleware: SecurityHeaders())
        add(middleware: Compression())
        add(middleware: MemoryCounting(budget: memory))
        add(middleware: FailureReporter())
        add(middleware: HostGuard(trusting: trusted))
        add(middleware: OriginGuard(admitting: PageOrigins(trusting: trusted, tokensOf: accounts)))
    }
}
