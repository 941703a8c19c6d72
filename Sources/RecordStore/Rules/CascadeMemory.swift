public import JSON

/// A cascade queue in memory, for cascades within one transaction.
public struct CascadeMemory: CascadeQueue {
    private struct Place: Hashable {
        let zone: Int64
        let name: Name

        init(_ record: HeldRecord) { (zone, name) = (record.target.zone, record.name) }
        init(_ name: Name, in zone: Int64) { (self.zone, self.name) = (zone, name) }
    }

    private var targets: [FallenTarget]
    private var nextTarget = 0
    private var held: [Place: HeldRecord] = [:]
    private var order: [Place] = []
    private var nextHeld = 0
    private var resting: Set<Place> = []

    /// - Parameter targets: in the order in which their referrers are deleted.
    public init(_ targets: [FallenTarget]) { self.targets = targets }

    /// True if records wait or rest.
    public var holdsRecords: Bool { !held.isEmpty }

    /// All targets that may still have referrers.
    public var targetsLeft: [FallenTarget] {
        let waiting = Set(held.values.map(\.target)).subtracting(targets[nextTarget...])
        return targets[nextTarget...] + waiting.sorted { $0.position < $1.position }
    }

    public func next() -> CascadeItem? {
        if nextTarget < targets.count { return .target(targets[nextTarget]) }
        return nextHeld < order.count ? held[order[nextHeld]].map { .record($0) } : nil
    }

    public mutating func finish(_ item: CascadeItem) {
        switch item {
        case .target: nextTarget += 1
        case .record(let record):
            held[Place(record)] = nil
            nextHeld += 1
        }
    }

    public mutating func add(_ target: FallenTarget) { targets.append(target) }

    public mutating func hold(_ record: HeldRecord) {
        held[Place(record)] = record
        order.append(Place(record))
    }

    public mutating func isHeld(_ record: HeldRecord) -> Bool {
        let place = Place(record)
        guard let before = held[place] else { return false }
        if before.target.position < record.target.position {
            held[place] = record
            if resting.remove(place) != nil { order.append(place) }
        }
        return true
    }

    public mutating func rest(_ record: HeldRecord) {
        resting.insert(Place(record))
        nextHeld += 1
    }

    public mutating func wake(_ names: [Name], in zone: Int64) {
        for name in names {
            let place = Place(name, in: zone)
            if resting.remove(place) != nil { order.append(place) }
        }
    }

    /// Moves all resting records to the waiting ones, ordered by target and name.
    mutating func wakeAll() {
        order += resting.compactMap { held[$0] }.sorted { ($0.target.position, $0.name) < ($1.target.position, $1.name) }.map { Place($0) }
        resting = []
    }
}
