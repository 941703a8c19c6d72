internal import Text

/// One thing that a search may mean.
struct Found: ViewModel {
    let text: String
    let note: String?
    let href: String
    /// The texts that a search compares with, in full length.
    private let names: [String]

    /// - Parameter names: the full names; `nil` for the text alone.
    init(_ text: String, note: String? = nil, href: String, names: [String]? = nil) {
        (self.text, self.note, self.href, self.names) = (text, note, href, names ?? [text])
    }

    /// - Returns: `nil` if a word is in none of the names and not in the note. The lowest rank is the best match.
    func rank(_ words: FoundWords) -> Int? {
        words.rank(of: names, note: note)
    }
}

/// The matches of one kind, the better ones first.
struct FoundGroup: ViewModel {
    let title: String
    let items: [Found]
    /// `12 more: type more of the name`.
    let more: String?
    /// True if the text is the whole name of one.
    let hasExactMatch: Bool

    static let limit = 8

    /// - Returns: `nil` if nothing matches.
    init?(_ title: String, of all: [Found], _ words: FoundWords, limit: Int = limit, isCut: Bool = false) {
        let ranked = all.enumerated().compactMap { index, item in item.rank(words).map { (rank: $0, index: index, item: item) } }
            .sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }
        if ranked.isEmpty { return nil }
        self.title = title
        items = ranked.prefix(limit).map(\.item)
        let left = ranked.count - items.count
        let rest = isCut ? "and more" : left > 0 ? "\(Digits.grouped(left)) more" : nil
        more = rest.map { "\($0): type more of the name" }
        hasExactMatch = ranked[0].rank == FoundWords.exactRank
    }
}

/// The words of a search, in any case and order.
struct FoundWords: Sendable {
    static let exactRank = 0

    /// The text as it was typed.
    let typed: String
    private let text: String
    private let words: [String]

    init(_ text: String) {
        typed = text
        self.text = text.lowercased()
        words = self.text.split(separator: " ").map(String.init)
    }

    var isEmpty: Bool { words.isEmpty }

    /// - Returns: 0 for a whole name, 1 for the beginning of one, 2 for parts; `nil` if a word is missing.
    func rank(of names: [String], note: String? = nil) -> Int? {
        if words.isEmpty { return 2 }
        let names = names.map { $0.lowercased() }
        if names.contains(text) { return Self.exactRank }
        let note = note?.lowercased() ?? ""
        guard words.allSatisfy({ word in note.contains(word) || names.contains { $0.contains(word) } }) else { return nil }
        return names.contains { $0.hasPrefix(text) } ? 1 : 2
    }
}
