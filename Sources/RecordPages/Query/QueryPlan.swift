internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The query of a form, and the problems that prevent it.
struct QueryPlan: Sendable {
    let query: Query
    /// The problem with the value of a row, by row index.
    let filterProblems: [Int: String]
    let sortProblems: [Int: String]

    init(_ form: QueryForm, of type: RecordType) {
        var query = Query(recordType: type.name)
        var filterProblems: [Int: String] = [:]
        var sortProblems: [Int: String] = [:]
        for (index, row) in form.filters.enumerated() where !row.isUnfinished {
            do {
                query.filters.append(try Self.filter(row, of: type))
            } catch {
                filterProblems[index] = error.reason
            }
        }
        for (index, row) in form.sorts.enumerated() {
            do {
                query.sorts.append(try Self.sort(row, of: type))
            } catch {
                sortProblems[index] = error.reason
            }
        }
        self.query = query
        self.filterProblems = filterProblems
        self.sortProblems = sortProblems
    }

    var canRun: Bool { filterProblems.isEmpty && sortProblems.isEmpty }

    /// The problem of the first invalid row.
    var firstProblem: String? {
        filterProblems.min { $0.key < $1.key }?.value ?? sortProblems.min { $0.key < $1.key }?.value
    }

    private static func filter(_ row: QueryForm.Filter, of type: RecordType) throws(FilterValueProblem) -> Query.Filter {
        // The database itself refuses an unknown field, with the message that all clients get.
        guard let field = type.queryField(named: row.field) else {
            return Query.Filter(row.field, row.comparator ?? .equals, FieldInput(.string(FilterValueReader.alone(row.value, of: nil))))
        }
        guard let comparator = row.comparator ?? field.usualComparator else {
            throw FilterValueProblem(reason: "Fields of type \(field.definition.type.schemaName) can't be compared.")
        }
        do {
            let input = try FilterValueReader(field: field, comparator: comparator).input(row.value)
            return Query.Filter(row.field, comparator, input, distance: try distance(row, comparator))
        } catch let problem as FilterValueProblem {
            throw problem
        } catch {
            throw FilterValueProblem(reason: "\(error)")
        }
    }

    private static func distance(_ row: QueryForm.Filter, _ comparator: Comparator) throws(FilterValueProblem) -> Double? {
        guard comparator == .near, !row.distance.isEmpty else { return nil }
        guard let metres = Double(row.distance), metres.isFinite, metres >= 0 else {
            throw FilterValueProblem(reason: "‘\(row.distance)’ is not a distance. Write it in metres, as 5000.")
        }
        return metres
    }

    private static func sort(_ row: QueryForm.Sort, of type: RecordType) throws(FilterValueProblem) -> Query.Sort {
        guard let field = type.queryField(named: row.field), field.definition.type == .location else {
            return Query.Sort(row.field, ascending: !row.isDescending)
        }
        if row.origin.isEmpty { throw FilterValueProblem(reason: "Enter the origin of the distances, as 47.45, -122.31.") }
        do {
            return Query.Sort(row.field, ascending: !row.isDescending, relativeLocation: try FilterValueReader.location(row.origin))
        } catch let problem as FilterValueProblem {
            throw problem
        } catch {
            throw FilterValueProblem(reason: "\(error)")
        }
    }
}
