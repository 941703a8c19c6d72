internal import RecordStore
internal import Records

/// One opening of a file, with the epoch of the positions assigned during it.
///
/// The epoch is written with the first save. A file that is only read stays unchanged and can be read on a full disk.
/// A store closed for inactivity keeps its epoch when it is reopened, unless the file was replaced.
struct StoreOpening: Sendable, Equatable {
    /// The epochs in the file. The last one is open.
    private(set) var stored: [Epoch]
    let current: Epoch
    /// True if ``current`` is stored in the file.
    private(set) var isBegun: Bool
    /// The last assigned position.
    private(set) var position: Int64

    /// - Parameter epoch: the epoch of all processes; `nil` if each opening has its own.
    init(_ facts: StoreFacts, continuing last: StoreOpening?, epoch: UInt32? = nil) {
        stored = facts.epochs
        position = facts.position
        if let epoch {
            let open = stored.last.flatMap { $0.number == epoch ? $0 : nil }
            (current, isBegun) = (open ?? Epoch(number: epoch, after: facts.position), open != nil)
        } else if let last, last.stored == stored, last.position == position {
            (current, isBegun) = (last.current, last.isBegun)
        } else {
            (current, isBegun) = (Epoch(number: .random(in: 1...UInt32.max), after: facts.position), false)
        }
    }

    /// The opening of a newly created file, which already contains its first epoch.
    init(making keys: NewStoreKeys.Keys) {
        current = Epoch(number: keys.epoch, after: 0)
        (stored, isBegun, position) = ([current], true, 0)
    }

    /// The epochs used to validate tokens.
    var epochs: [Epoch] {
        if isBegun { return stored }
        return ended + [current]
    }

    private var ended: [Epoch] {
        stored.map { epoch in
            var epoch = epoch
            epoch.through = epoch.through ?? current.after
            return epoch
        }
    }

    /// Stores the start of this epoch in the transaction of the first save.
    static func begin(_ current: Epoch, _ db: SQLConnection) throws {
        try db.run("UPDATE incarnations SET through = ? WHERE through IS NULL", [current.after])
        try db.run("INSERT INTO incarnations (number, after) VALUES (?, ?)", [Int64(current.number), current.after])
        // Work after the last stored place is lost and is done again.
        try db.run("UPDATE indexWork SET done = doneThere WHERE phase = \(IndexWork.Phase.building.rawValue)")
    }

    /// Begins the epoch of all processes, unless one of them has.
    static func begin(_ epoch: UInt32, of connections: any WritableConnections) throws {
        let hasBegun = { (db: SQLConnection) in try Int64.fetchOne(db, sql: "SELECT number FROM incarnations WHERE through IS NULL") == Int64(epoch) }
        if try connections.read(hasBegun) { return }
        try connections.write { db in try db.writing {
            if try hasBegun(db) { return false }
            let position = try connections.notesOfOthers?.position ?? StoreFacts.position(db)
            try begin(Epoch(number: epoch, after: position), db)
            return true
        } }
    }

    /// The opening as it is when the store is closed.
    func closed(at position: Int64, isBegun: Bool) -> StoreOpening {
        var closed = self
        closed.position = position
        if isBegun, !self.isBegun { (closed.stored, closed.isBegun) = (ended + [current], true) }
        return closed
    }
}
