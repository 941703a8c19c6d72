internal import JSON
internal import Records

/// The order of operations in a non-atomic request: as given, but parents before their children.
struct ParentOrder {
    private(set) var indices: [Int] = []

    /// - Parameter zones: the engine's zone key for each operation; `nil` if the zone does not exist.
    init(of operations: [RecordOperation], in zones: [Int64?]) {
        struct Place: Hashable {
            let zone: Int64
            let name: Name
        }
        var saves: [Place: Int] = [:]
        for (index, operation) in operations.enumerated() where !operation.kind.isDeletion {
            if let zone = zones[index], let name = operation.recordName { saves[Place(zone: zone, name: name)] = index }
        }
        var isTaken = Array(repeating: false, count: operations.count)
        for index in operations.indices where !isTaken[index] {
            // From the operation up to the first ancestor that is not saved in this request or was placed already.
            var line: [Int] = []
            var next: Int? = index
            while let current = next, !isTaken[current] {
                isTaken[current] = true
                line.append(current)
                next = nil
                if case .record(let parent) = operations[current].parent, let zone = zones[current] { next = saves[Place(zone: zone, name: parent)] }
            }
            indices += line.reversed()
        }
    }
}
