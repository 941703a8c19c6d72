internal import JSON
internal import Records

/// The order of operations in a non-atomic request: as given, but parents are saved before their children, and deleted after them.
struct ParentOrder {
    private struct Place: Hashable {
        let zone: Int64
        let name: Name
    }

    private(set) var indices: [Int] = []
    /// The saves of records that the request puts below themselves.
    private(set) var circles: Set<Int> = []

    static func cycle(_ name: Name) -> RecordError {
        RecordError(known: .parentCycle, name)
    }

    /// - Parameters:
    ///   - zones: the engine's zone key for each operation; `nil` if the zone does not exist.
    ///   - parent: the parent of a stored record, by its name and zone.
    init(of operations: [RecordOperation], in zones: [Int64?], parent: (Name, Int64) throws -> Name?) rethrows {
        var (saves, deletions): ([Place: Int], [Place: Int]) = ([:], [:])
        for (index, operation) in operations.enumerated() {
            guard let zone = zones[index], let name = operation.recordName else { continue }
            if operation.kind.isDeletion { deletions[Place(zone: zone, name: name)] = index } else { saves[Place(zone: zone, name: name)] = index }
        }
        let savesAbove = operations.indices.map { index -> Int? in
            guard let zone = zones[index], case .record(let parent) = operations[index].parent else { return nil }
            return saves[Place(zone: zone, name: parent)]
        }
        var isTaken = Array(repeating: false, count: operations.count)
        for index in operations.indices where !isTaken[index] {
            // From the operation up to the first ancestor that is not saved in this request or was placed already.
            var line: [Int] = []
            var next: Int? = index
            while let current = next, !isTaken[current] {
                isTaken[current] = true
                line.append(current)
                next = savesAbove[current]
            }
            // Restored records may be as they were.
            if let next, let start = line.firstIndex(of: next) { circles.formUnion(line[start...].filter { operations[$0].provenance == nil }) }
            indices += line.reversed()
        }
        // A single deletion needs no look at its record.
        if deletions.count > 1 { try orderDeletions(deletions, parent) }
    }

    /// Deletions keep their places among the saves. Those of records further down come first.
    private mutating func orderDeletions(_ deletions: [Place: Int], _ parent: (Name, Int64) throws -> Name?) rethrows {
        var above: [Int: Int] = [:]
        for (place, index) in deletions {
            if let parent = try parent(place.name, place.zone) { above[index] = deletions[Place(zone: place.zone, name: parent)] }
        }
        if above.isEmpty { return }
        let deleted = Set(deletions.values)
        let depths = Dictionary(uniqueKeysWithValues: deleted.map { index in
            var (depth, next) = (0, above[index])
            // Parents may form a circle.
            while let current = next, depth < deletions.count { (depth, next) = (depth + 1, above[current]) }
            return (index, depth)
        })
        let places = indices.indices.filter { deleted.contains(indices[$0]) }
        let ordered = places.map { indices[$0] }.enumerated().sorted { (-(depths[$0.element] ?? 0), $0.offset) < (-(depths[$1.element] ?? 0), $1.offset) }
        for (place, index) in zip(places, ordered) { indices[place] = index.element }
    }
}
