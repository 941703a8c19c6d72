public import JSON

/// The order for saving copies one by one, such that the targets of VALIDATE references come first.
///
/// Works recursively, for at most ``RecordCopier/recordLimit`` records.
public struct CopyOrder: Sendable {
    /// The indices of the records, dependencies first. Each group is a single record
    /// or a reference cycle. The records of a cycle can't be saved without each other.
    public private(set) var groups: [[Int]] = []

    private let targets: [[Int]]
    private var numbers: [Int: Int] = [:]
    private var open: [Int] = []

    /// - Parameters:
    ///   - records: the names of the records, with the names that must exist when each one is saved.
    ///   - there: existing names, which are not dependencies.
    public init(_ records: [(name: Name, validates: [Name])], there: Set<Name>) {
        let places = Dictionary(records.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        targets = records.map { record in record.validates.filter { !there.contains($0) }.compactMap { places[$0] } }
        for index in records.indices where numbers[index] == nil { _ = visit(index) }
    }

    /// Tarjan's algorithm for strongly connected components: a component is complete when all its dependencies are.
    /// - Returns: the lowest number of an open node that is reachable from here.
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
