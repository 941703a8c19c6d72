public import Accounts
public import Hummingbird

extension Router where Context == ServingRequestContext {
    /// Adds everything that stands before every route: timing, security headers, compression, the count of memory, answers for errors, and the guards of
    /// host and origin.
    ///
    /// To be called before any route is added. Goes with ``responder()`` and ``HummingbirdCore/HTTPServerBuilder/guardedHTTP1()``.
    /// - Parameters:
    ///   - accounts: whose API tokens let in pages of the origins that they list; `nil` where no token does.
    ///   - isSecure: whether connections are encrypted.
    ///   - memory: what requests and answers may take together.
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
