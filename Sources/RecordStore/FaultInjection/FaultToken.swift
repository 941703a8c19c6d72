internal import Records

/// A token that connects the pages of a pull with injected faults. It wraps a token of the engine. It is valid even
/// after the fault was turned off, so that a pull can finish.
///
/// The last token of a pull is always the engine's own, so that tokens kept by clients outlive the fault. Wrapping
/// tokens can be forged and are not trusted: the engine validates the wrapped token.
enum FaultToken {
    /// An empty page was returned; the page since this token follows.
    case afterEmptyPage(since: ChangeToken?)
    /// `index` changes of a reordered pull were returned. The start token allows the pull to be restarted.
    case inOrderedPull(UInt64, index: Int, since: ChangeToken?)

    /// Engine tokens never start with these bytes, because their first byte contains a format version.
    private static let mark = Array("Rhrs".utf8)

    /// Maximum length in bytes. Engine tokens have fewer than 100.
    private static let byteLimit = 512

    /// - Returns: `nil` for an engine token or a malformed one, which the engine will reject.
    init?(_ token: ChangeToken) {
        guard token.bytes.count <= Self.byteLimit, token.bytes.starts(with: Self.mark) else { return nil }
        var rest = token.bytes.dropFirst(Self.mark.count)
        switch rest.popFirst() {
        case 1:
            // An empty page can occur within a reordered pull. No other nesting is possible.
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

    /// The engine's token for the same place or an earlier one; `nil` for the start.
    static func engineToken(of token: ChangeToken) -> ChangeToken? {
        switch FaultToken(token) {
        case nil: token
        case .inOrderedPull(_, _, let since)?: since
        case .afterEmptyPage(let since)?:
            if let since, case .inOrderedPull(_, _, let begun)? = FaultToken(since) { begun } else { since }
        }
    }

    private static func inner(_ bytes: ArraySlice<UInt8>) -> ChangeToken? {
        bytes.isEmpty ? nil : ChangeToken(bytes: Array(bytes))
    }
}
