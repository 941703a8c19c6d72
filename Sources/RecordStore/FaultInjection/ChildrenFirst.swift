internal import JSON
internal import Records

/// Orders records before those they depend on, and otherwise keeps commit order.
///
/// A record's parent and the targets of its DELETE_SELF and VALIDATE references always follow it. Targets of plain
/// references follow it if that does not contradict the first rule. Cycles are broken at the earliest change.
struct ChildrenFirst {
    private struct Links {
        var strong: Set<Int> = []
        var weak: Set<Int> = []
    }

    private let changes: [RecordChange]
    private let links: [Links]
    /// Number of changes that depend on a change and are not placed yet.
    private var strongPending: [Int]
    private var weakPending: [Int]
    private var isDone: [Bool]

    /// - Throws: `RecordError` INTERNAL_ERROR if stored fields are damaged.
    static func ordered(_ changes: [RecordChange]) throws -> [RecordChange] {
        var order = try ChildrenFirst(changes)
        return order.run()
    }

    private init(_ changes: [RecordChange]) throws {
        self.changes = changes
        let places = Dictionary(zip(changes.map(\.recordID.recordName), changes.indices), uniquingKeysWith: { _, last in last })
        links = try changes.enumerated().map { index, change in try Self.links(of: change, at: index, places) }
        strongPending = Array(repeating: 0, count: changes.count)
        weakPending = strongPending
        isDone = Array(repeating: false, count: changes.count)
        for link in links {
            for target in link.strong { strongPending[target] += 1 }
            for target in link.weak { weakPending[target] += 1 }
        }
    }

    private static func links(of change: RecordChange, at index: Int, _ places: [Name: Int]) throws -> Links {
        var links = Links()
        guard change.kind != .deleted, let record = change.record else { return links }
        if let place = record.parent.flatMap({ places[$0] }) { links.strong.insert(place) }
        for field in try record.fields.decoded() {
            for case .reference(let reference) in field.value.elements
            where reference.zoneID.map({ $0.zoneName == record.recordID.zoneID.zoneName }) ?? true {
                guard let place = places[reference.recordName] else { continue }
                if reference.action == .none { links.weak.insert(place) } else { links.strong.insert(place) }
            }
        }
        links.strong.remove(index)
        links.weak.remove(index)
        links.weak.subtract(links.strong)
        return links
    }

    private mutating func run() -> [RecordChange] {
        var ordered: [RecordChange] = []
        ordered.reserveCapacity(changes.count)
        // Nothing depends on free changes any more; only plain references depend on almost free ones.
        var free = changes.indices.filter { strongPending[$0] == 0 && weakPending[$0] == 0 }[...]
        var almostFree = changes.indices.filter { strongPending[$0] == 0 && weakPending[$0] > 0 }[...]
        var rest = changes.indices
        while let next = free.popFirst() ?? almostFree.popFirst() ?? rest.popFirst() {
            if isDone[next] { continue }
            isDone[next] = true
            ordered.append(changes[next])
            for target in links[next].strong.sorted() {
                strongPending[target] -= 1
                if strongPending[target] == 0 { if weakPending[target] == 0 { free.append(target) } else { almostFree.append(target) } }
            }
            for target in links[next].weak.sorted() {
                weakPending[target] -= 1
                if weakPending[target] == 0, strongPending[target] == 0 { free.append(target) }
            }
        }
        return ordered
    }
}
