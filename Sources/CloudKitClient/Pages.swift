internal import Records

/// The pages of a query or a feed, asked for one after the other as they are needed.
public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    /// One page. It may be empty and yet not the last.
    public typealias Element = Page
    typealias Fetch = @Sendable (String?) async throws -> (page: Page, isEmpty: Bool, next: String?)

    private let trail: PageTrail
    private let start: String?
    private let fetch: Fetch

    /// - Parameters:
    ///   - start: the marker or token of the first page.
    ///   - fetch: gets a page and the marker of the next one, `nil` after the last.
    init(of action: String, after start: String?, _ pacing: Pacing, _ fetch: @escaping Fetch) {
        trail = PageTrail(of: action, after: start, pacing)
        self.start = start
        self.fetch = fetch
    }

    /// Asks for one page at each call, from the first one on.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let fetch: Fetch
        var trail: PageTrail
        var cursor: String?
        var isAtEnd = false

        /// - Throws: as the method that gets one page; ``CloudKitFailure`` too if the server sends a client in a circle, or gives empty pages without end.
        public mutating func next() async throws -> Page? {
            if isAtEnd { return nil }
            let (page, isEmpty, next) = try await fetch(cursor)
            if let next { try await trail.follow(next, isEmpty: isEmpty) }
            cursor = next
            isAtEnd = next == nil
            return page
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(fetch: fetch, trail: trail, cursor: start) }
}

/// The way of a client through pages that only the server ends. It finds circles of any length, waits after empty pages, and ends after too many of them.
package struct PageTrail: Sendable {
    /// The number of empty pages in a row that are followed. A query may look at many records before it finds one.
    package static let emptyLimit = 1000

    private let action: String
    private let pacing: Pacing
    private var pause = EmptyAnswerPause()
    private var emptyPages = 0
    private var cycle: CycleDetector

    init(of action: String, after start: String?, _ pacing: Pacing) {
        self.action = action
        self.pacing = pacing
        cycle = CycleDetector(from: start)
    }

    /// To be called between two pages.
    /// - Parameters:
    ///   - next: the marker or token of the next page.
    ///   - isEmpty: true if the page before it had nothing.
    /// - Throws: ``CloudKitFailure``; `CancellationError` while it waits.
    package mutating func follow(_ next: String, isEmpty: Bool) async throws {
        guard !cycle.isClosed(by: next) else { throw failure("more is coming, but the way to it leads back to the same page") }
        guard isEmpty else {
            emptyPages = 0
            pause.end()
            return
        }
        emptyPages += 1
        guard emptyPages < Self.emptyLimit else { throw failure("\(emptyPages) pages in a row said that more is coming, and had nothing") }
        try await pause.wait(pacing)
    }

    private func failure(_ reason: String) -> CloudKitFailure { CloudKitFailure(.unexpectedAnswer(status: 200, reason), action: action) }
}

extension ContainerClient {
    /// The way through the pages of a service.
    /// - Parameters:
    ///   - action: such as `changes/zone`, for errors.
    ///   - start: the marker or token of the first page.
    package func trail(of action: String, after start: String?) -> PageTrail { PageTrail(of: action, after: start, pacing) }
}

/// The pauses after answers without content, so that a server that answers at once is not asked thousands of times a second. They double from 10
/// milliseconds to a quarter of a second.
package struct EmptyAnswerPause: Sendable {
    private static let (first, longest) = (Duration.milliseconds(10), Duration.milliseconds(250))
    private var next = first

    package init() {}

    package mutating func wait(_ pacing: Pacing) async throws {
        defer { next = min(next * 2, Self.longest) }
        try await pacing.pause(next)
    }

    /// Something came.
    package mutating func end() { next = Self.first }
}
