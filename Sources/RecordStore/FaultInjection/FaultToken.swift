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

    /// Maximum length in bytes. Tokens of our engines have fewer than 100.
    private static let byteLimit = 1024

    /// - Returns: `nil` for an engine token or a malformed one, which the engine will reject.
    init?(_ token: ChangeToken) {
        let bytes = token.bytes
        guard bytes.count <= Self.byteLimit, bytes.starts(with: Self.mark) else { return nil }
        var rest = bytes.dropFirst(Self.mark.count)
        let kind = rest.popFirst()
        if kind == 2 {
            guard rest.count >= 12 else { return nil }
            let number = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let index = rest.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let since = Self.inner(rest.dropFirst(12))
            // Nothing is nested in a reordered pull.
            if let since, since.bytes.starts(with: Self.mark) { return nil }
            self = .inOrderedPull(number, index: index, since: since)
            return
        }
        guard kind == 1 else { return nil }
        let since = Self.inner(rest)
        // An empty page can occur within a reordered pull. No other nesting is possible.
        if let since, since.bytes.starts(with: Self.mark) {
            guard since.bytes.dropFirst(Self.mark.count).first == 2, FaultToken(since) != nil else { return nil }
        }
        self = .afterEmptyPage(since: since)
    }

    var token: ChangeToken {
        var bytes = Self.mark
        switch self {
        case .afterEmptyPage(let since):
            bytes.append(1)
            bytes += Array((since?.text ?? "").utf8)
        case .inOrderedPull(let number, let index, let since):
            bytes.append(2)
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
            for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: index >> shift)) }
            bytes += Array((since?.text ?? "").utf8)
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

    /// The wrapped token, in the text that the engine gave it.
    private static func inner(_ bytes: ArraySlice<UInt8>) -> ChangeToken? {
        bytes.isEmpty ? nil : ChangeToken(text: String(decoding: bytes, as: UTF8.self))
    }
}
