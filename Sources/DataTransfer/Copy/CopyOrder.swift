public import JSON

/// The order in which copies are saved where each is checked by itself: what a VALIDATE reference points to comes first.
///
/// At most ``RecordCopier/recordLimit`` records are meant.
public struct CopyOrder: Sendable {
    /// Places of the records, those first that others wait for. A record is alone, or with those that wait for each other, in a circle: none
    /// of these can be saved without the others.
    public private(set) var groups: [[Int]] = []

    private let targets: [[Int]]
    private var numbers: [Int: Int] = [:]
    private var open: [Int] = []

    /// - Parameters:
    ///   - records: their names, and the names that each has to find when it is saved.
    ///   - there: names that are there already, for which nobody waits.
    public init(_ records: [(name: Name, validates: [Name])], there: Set<Name>) {
        let places = Dictionary(records.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        targets = records.map { record in record.validates.filter { !there.contains($0) }.compactMap { places[$0] } }
        for index in records.indices where numbers[index] == nil { _ = visit(index) }
    }

    /// Tarjan's way to the circles of a graph: each is closed when all that it points to is.
    /// - Returns: the lowest number of an open place that is reached from here.
    private mutating func visit(_ index: Int) -> Int {
        let number = numbers.count
        numbers[index] = number
        open.append(index)
        var lowest = number
        for target in targets[index] {
            if let known = numbers[target] {
                if open.contains(target) { lowest = min(lowest, known) }
            } else {
                lowest = min(lowest, visit(target))
            }
        }
        if lowest == number, let start = open.lastIndex(of: index) {
            groups.append(open[start...].sorted())
            open.removeSubrange(start...)
        }
        return lowest
    }
}
