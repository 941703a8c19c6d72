internal import Records
internal import Synchronization

/// Cached properties of frequently used files. Files never change, so the properties stay valid until the removal.
final class KnownFiles: Sendable {
    struct Facts: Sendable {
        var type: AssetType?
        var compressedForm: CompressedForm?
    }

    enum CompressedForm: Sendable, Hashable {
        case kept
        /// Compression would hardly reduce the size.
        case notWorthIt
    }

    /// The maximum number of cached files, half of them in each of two generations.
    /// Entries of the old generation that were not used since are dropped.
    private static let limit = 8192
    private struct State {
        var young: [FileChecksum: Facts] = [:]
        var old: [FileChecksum: Facts] = [:]
    }

    private let state = Mutex(State())

    func facts(of checksum: FileChecksum) -> Facts {
        state.withLock { state in
            if let facts = state.young[checksum] { return facts }
            guard let facts = state.old[checksum] else { return Facts() }
            Self.put(facts, of: checksum, in: &state)
            return facts
        }
    }

    func note(_ type: AssetType, of checksum: FileChecksum) {
        change(checksum) { $0.type = type }
    }

    /// - Parameter form: the new state; `nil` if the previous form no longer exists.
    func note(_ form: CompressedForm?, of checksum: FileChecksum) {
        change(checksum) { $0.compressedForm = form }
    }

    private func change(_ checksum: FileChecksum, _ change: (inout Facts) -> Void) {
        state.withLock { state in
            var facts = state.young[checksum] ?? state.old[checksum] ?? Facts()
            change(&facts)
            Self.put(facts, of: checksum, in: &state)
        }
    }

    func forget(_ checksum: FileChecksum) {
        state.withLock { state in
            state.young[checksum] = nil
            state.old[checksum] = nil
        }
    }

    private static func put(_ facts: Facts, of checksum: FileChecksum, in state: inout State) {
        if state.young.count >= limit / 2 {
            state.old = state.young
            state.young = [:]
        }
        state.young[checksum] = facts
    }
}
