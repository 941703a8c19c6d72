internal import Records

/// A token that leads from one page of a rehearsed pull to the next. It wraps a token of the engine, and is read whether or not the
/// rehearsal is still on, so that a pull that has begun comes to its end.
///
/// The last token of a pull is always the engine's own: what a client keeps outlives the rehearsal. Anybody can write such a token, so it
/// is trusted with nothing: the engine judges what it wraps.
enum RehearsedToken {
    /// An empty page was given; now the page since the token follows.
    case afterEmptyPage(since: ChangeToken?)
    /// So many changes of an ordered pull were given. The token that the pull began with makes it possible to begin again.
    case inOrderedPull(UInt64, index: Int, since: ChangeToken?)

    /// No token of an engine begins so: their first byte holds a format version.
    private static let mark = Array("Rhrs".utf8)

    /// Bytes of the longest one; tokens of engines have less than a hundred.
    private static let byteLimit = 512

    /// - Returns: `nil` for a token of an engine, and for what was made up: the engine will refuse it.
    init?(_ token: ChangeToken) {
        guard token.bytes.count <= Self.byteLimit, token.bytes.starts(with: Self.mark) else { return nil }
        var rest = token.bytes.dropFirst(Self.mark.count)
        switch rest.popFirst() {
        case 1:
            // An empty page may come within an ordered pull; nothing else of a rehearsal stands in another.
            if rest.starts(with: Self.mark) {
                let inner = rest.dropFirst(Self.mark.count)
                guard inner.first == 2, Self(orderedPull: inner.dropFirst()) != nil else { return nil }
            }
            self = .afterEmptyPage(since: Self.inner(rest))
        case 2: self.init(orderedPull: rest)
        default: return nil
        }
    }

    private init?(orderedPull bytes: ArraySlice<UInt8>) {
        let since = bytes.dropFirst(12)
        guard bytes.count >= 12, !since.starts(with: Self.mark) else { return nil }
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let index = bytes.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        self = .inOrderedPull(number, index: index, since: Self.inner(since))
    }

    var token: ChangeToken {
        var bytes = Self.mark
        switch self {
        case .afterEmptyPage(let since):
            bytes.append(1)
            bytes += since?.bytes ?? []
        case .inOrderedPull(let number, let index, let since):
            bytes.append(2)
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
            for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: index >> shift)) }
            bytes += since?.bytes ?? []
        }
        return ChangeToken(bytes: bytes)
    }

    /// The engine's token for the same place, or one before it; `nil` for the beginning.
    static func engineToken(of token: ChangeToken) -> ChangeToken? {
        switch RehearsedToken(token) {
        case nil: token
        case .inOrderedPull(_, _, let since)?: since
        case .afterEmptyPage(let since)?:
            if let since, case .inOrderedPull(_, _, let begun)? = RehearsedToken(since) { begun } else { since }
        }
    }

    private static func inner(_ bytes: ArraySlice<UInt8>) -> ChangeToken? {
        bytes.isEmpty ? nil : ChangeToken(bytes: Array(bytes))
    }
}
