internal import RecordStore
internal import Records

/// The records of a zone as trees of parents, each in the part of the zone that the same users see.
struct SharedTree {
    /// Indexes of records in ``nodes``.
    typealias Index = Int

    let nodes: [ZoneTree.Node]
    /// For each record, those below it that the same users see, and the roots of other shares. Not in order.
    private(set) var children: [Index: [Index]] = [:]
    /// Number of records below each one, without those of other shares.
    private(set) var below: [Int]
    /// The tops of the records of each share, by its hierarchy: its root. `nil` has those that no share shows.
    private(set) var tops: [Int64?: [Index]] = [:]
    /// Number of records that the store has not moved into the part yet where their parents are, by its hierarchy.
    private(set) var moving: [Int64?: Int] = [:]
    /// The hierarchies that roots begin.
    let roots: [Index: Int64]
    private let indexes: [Name: Index]
    private let living: Set<Int64>

    init(_ tree: ZoneTree, shares: [ZoneShare]) {
        let nodes = tree.nodes.filter { $0.recordType != Share.recordType }
        self.nodes = nodes
        below = Array(repeating: 0, count: nodes.count)
        living = Set(shares.compactMap { $0.rootName == nil ? nil : $0.hierarchy })
        let indexes = Dictionary(
            nodes.indices.map { (nodes[$0].recordName, $0) }, uniquingKeysWith: { first, _ in first })
        self.indexes = indexes
        roots = Dictionary(
            shares.compactMap { share in share.rootName.flatMap { indexes[$0] }.map { ($0, share.hierarchy) } },
            uniquingKeysWith: { first, _ in first })
        var linked: [Index: [Index]] = [:]
        var tops: [Index] = []
        for (index, node) in nodes.enumerated() {
            let parent = node.parent.flatMap { indexes[$0] }
            if let parent, parent != index {
                linked[parent, default: []].append(index)
            } else if roots[index] == nil {
                tops.append(index)
            }
        }
        arrange(tops: Array(roots.keys) + tops, linked)
    }

    /// The hierarchy through which guests see a record; `nil` for none. A share of the whole zone has none.
    func hierarchy(of index: Index) -> Int64? {
        nodes[index].hierarchy.flatMap { living.contains($0) ? $0 : nil }
    }

    func index(of name: Name) -> Index? { indexes[name] }

    /// The records above a record, the nearest first. Ends at a circle.
    func ancestors(of index: Index) -> [Index] {
        var all: [Index] = []
        var passed: Set<Index> = [index]
        var next = index
        while let parent = nodes[next].parent.flatMap({ indexes[$0] }), passed.insert(parent).inserted {
            all.append(parent)
            next = parent
        }
        return all
    }

    /// Number of records of a share without the share itself; `nil` counts those that no share shows.
    func count(in hierarchy: Int64?) -> Int {
        (tops[hierarchy] ?? []).reduce(0) { $0 + 1 + below[$1] }
    }

    /// The first records in the order of their names.
    func sorted(_ indexes: [Index]) -> [Index] { indexes.sorted { nodes[$0].recordName < nodes[$1].recordName } }

    /// Walks down from the tops, and then through circles of parents, which have none.
    private mutating func arrange(tops: [Index], _ linked: [Index: [Index]]) {
        var isPlaced = Array(repeating: false, count: nodes.count)
        func start(_ top: Index, _ tree: inout SharedTree) {
            if isPlaced[top] { return }
            isPlaced[top] = true
            let hierarchy = tree.roots[top] ?? tree.hierarchy(of: top)
            tree.tops[hierarchy, default: []].append(top)
            var order: [(index: Index, parent: Index?)] = [(top, nil)]
            var next = 0
            while next < order.count {
                let index = order[next].index
                if tree.hierarchy(of: index) != hierarchy { tree.moving[hierarchy, default: 0] += 1 }
                for child in linked[index] ?? [] {
                    if tree.roots[child] != nil {
                        tree.children[index, default: []].append(child)
                    } else if !isPlaced[child] {
                        isPlaced[child] = true
                        tree.children[index, default: []].append(child)
                        order.append((child, index))
                    }
                }
                next += 1
            }
            for (index, parent) in order.reversed() {
                if let parent { tree.below[parent] += tree.below[index] + 1 }
            }
        }
        for top in tops { start(top, &self) }
        for index in nodes.indices where !isPlaced[index] { start(index, &self) }
    }
}
