/// The pages of a query or a feed, asked for one after the other as they are needed.
public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    /// One page. It may be empty and yet not the last.
    public typealias Element = Page
    typealias Fetch = @Sendable (String?) async throws -> (page: Page, next: String?)

    private let action: String
    private let start: String?
    private let fetch: Fetch

    /// - Parameters:
    ///   - start: the marker or token of the first page.
    ///   - fetch: gets a page and the marker of the next one, `nil` after the last.
    init(of action: String, after start: String?, _ fetch: @escaping Fetch) {
        self.action = action
        self.start = start
        self.fetch = fetch
    }

    /// Asks for one page at each call, from the first one on.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let action: String
        let fetch: Fetch
        var cursor: String?
        var isAtEnd = false

        /// - Throws: as the method that gets one page; ``CloudKitFailure`` too if the server sends a client in a circle.
        public mutating func next() async throws -> Page? {
            if isAtEnd { return nil }
            let (page, next) = try await fetch(cursor)
            if let next, next == cursor {
                // Otherwise this would go on forever.
                throw CloudKitFailure(.unexpectedAnswer(status: 200, "more is coming, but the way to it leads back to the same page"), action: action)
            }
            cursor = next
            isAtEnd = next == nil
            return page
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(action: action, fetch: fetch, cursor: start) }
}
