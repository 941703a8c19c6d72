internal import GRDB
internal import RecordStore
internal import Records

/// One opening of a file: which incarnation the positions belong to that are given out in it.
///
/// It is written with the first save, so a file that is only read is not changed, and can be read on a full disk. A store that was closed
/// because nobody used it goes on in the incarnation it had, as long as nobody put another file in its place.
struct StoreOpening: Sendable, Equatable {
    /// The incarnations in the file; the last one has no end.
    private(set) var stored: [Incarnation]
    let current: Incarnation
    /// Whether the file has ``current``.
    private(set) var isBegun: Bool
    /// The last position given out.
    private(set) var position: Int64

    init(_ facts: StoreFacts, continuing last: StoreOpening?) {
        stored = facts.incarnations
        position = facts.position
        if let last, last.stored == stored, last.position == position {
            (current, isBegun) = (last.current, last.isBegun)
        } else {
            (current, isBegun) = (Incarnation(number: .random(in: 1...UInt32.max), after: facts.position), false)
        }
    }

    /// That of a file which is made with its first incarnation.
    init(making keys: NewStoreKeys.Keys) {
        current = Incarnation(number: keys.incarnation, after: 0)
        (stored, isBegun, position) = ([current], true, 0)
    }

    /// As tokens are judged by.
    var incarnations: [Incarnation] {
        if isBegun { return stored }
        return ended + [current]
    }

    private var ended: [Incarnation] {
        stored.map { incarnation in
            var incarnation = incarnation
            incarnation.through = incarnation.through ?? current.after
            return incarnation
        }
    }

    /// Writes that the positions from now on belong to this opening, within the transaction of the first save.
    static func begin(_ current: Incarnation, _ db: Database) throws {
        try db.execute(sql: "UPDATE incarnations SET through = ? WHERE through IS NULL", arguments: [current.after])
        try db.execute(sql: "INSERT INTO incarnations (number, after) VALUES (?, ?)", arguments: [Int64(current.number), current.after])
        // What was done after the last place that was written is done again.
        try db.execute(sql: "UPDATE indexWork SET done = doneThere WHERE phase = \(IndexWork.Phase.building.rawValue)")
    }

    /// Where the store stands when it is closed.
    func closed(at position: Int64, isBegun: Bool) -> StoreOpening {
        var closed = self
        closed.position = position
        if isBegun, !self.isBegun { (closed.stored, closed.isBegun) = (ended + [current], true) }
        return closed
    }
}
