internal import Records
internal import Synchronization

/// Tracks for each file whether it is in use or being removed. The two states exclude each other.
final class FileHolds: Sendable {
    private enum State {
        case held(Int)
        /// Includes the tasks that wait for the end of the removal.
        case removed([CheckedContinuation<Void, Never>])
    }

    private let states = Mutex<[FileChecksum: State]>([:])

    /// Holds a file, even if it does not exist yet. Waits for a removal of the same file to end.
    func hold(_ checksum: FileChecksum) async -> FileHold {
        while !tryHold(checksum) {
            await withCheckedContinuation { continuation in
                let isOver = states.withLock { states in
                    guard case .removed(let waiting) = states[checksum] else { return true }
                    states[checksum] = .removed(waiting + [continuation])
                    return false
                }
                if isOver { continuation.resume() }
            }
        }
        return FileHold(checksum, of: self)
    }

    private func tryHold(_ checksum: FileChecksum) -> Bool {
        states.withLock { states in
            switch states[checksum] {
            case nil: states[checksum] = .held(1)
            case .held(let count): states[checksum] = .held(count + 1)
            case .removed: return false
            }
            return true
        }
    }

    fileprivate func release(_ checksum: FileChecksum) {
        states.withLock { states in
            guard case .held(let count) = states[checksum] else { return }
            states[checksum] = count > 1 ? .held(count - 1) : nil
        }
    }

    /// True if the file is held.
    func isHeld(_ checksum: FileChecksum) -> Bool {
        states.withLock { if case .held = $0[checksum] { true } else { false } }
    }

    /// Claims a file for removal.
    /// - Parameter own: the number of the caller's own holds, which do not prevent the removal.
    /// - Returns: `false` if the file is held or already being removed.
    func beginRemoval(_ checksum: FileChecksum, own: Int = 0) -> Bool {
        states.withLock { states in
            switch states[checksum] {
            case nil where own == 0: break
            case .held(own): break
            default: return false
            }
            states[checksum] = .removed([])
            return true
        }
    }

    /// Ends a removal, whether or not the file was removed.
    func endRemoval(_ checksum: FileChecksum) {
        let waiting: [CheckedContinuation<Void, Never>] = states.withLock { states in
            guard case .removed(let waiting) = states[checksum] else { return [] }
            states[checksum] = nil
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// While this object exists, no sweep removes the file.
final class FileHold: Sendable {
    let checksum: FileChecksum
    private let holds: FileHolds
    private let isOver = Atomic(false)

    fileprivate init(_ checksum: FileChecksum, of holds: FileHolds) {
        self.checksum = checksum
        self.holds = holds
    }

    deinit {
        release()
    }

    func release() {
        if !isOver.exchange(true, ordering: .relaxed) { holds.release(checksum) }
    }

    /// Turns the hold into a removal if it is the only one. ``FileHolds/endRemoval(_:)`` must follow.
    func turnIntoRemoval() -> Bool {
        guard holds.beginRemoval(checksum, own: 1) else { return false }
        isOver.store(true, ordering: .relaxed)
        return true
    }
}
