internal import JSON
internal import RecordStore
internal import Records

/// The facts of a plan that its summary tells.
///
/// The request log keeps them for each query and rarely needs the text, so they are small and the text is made on
/// demand.
struct PlanSummary: Sendable {
    enum Way {
        case nothing
        case lookUp(Int)
        case names(IndexName)
        case members
        case collect(IndexName)
        case nearest(Name)
        case sort(Name)
        case composite(CompositeIndex)
        case collectMembers
    }

    struct IndexName: CustomStringConvertible {
        let field: Name
        let indexes: Indexes

        var description: String { indexes.isEmpty ? field.string : "\(field) \(indexes.names.joined(separator: " "))" }
    }

    let way: Way
    /// The indexes in which names were looked up.
    let narrowing: [IndexName]
    let isAscending: Bool
    /// Number of searched zones. The summary is about the first, which has this name.
    let zones: Int
    var zoneName: Name = ""
    /// True if the page was full before all records were read.
    let hasMore: Bool

    /// Describes the plan in one or two sentences.
    func text(entriesCounted: Int = 0) -> String {
        if case .nothing = way { return "Nothing is saved there yet." }
        let end =
            narrowing.isEmpty ? "." : ", and \(narrowing.map(\.description).joined(separator: " and ")) excluded names before their records were read."
        let counted = entriesCounted > 0 ? " To choose this plan, the store counted \(entriesCounted) entries." : ""
        return wayText + end + counted + (zones > 1 ? " This describes the zone '\(zoneName)', the first of \(zones)." : "")
    }

    private var wayText: String {
        let direction = isAscending ? "ascending" : "descending"
        let end = hasMore ? "until the page was full" : "to the end"
        switch way {
        case .nothing: return ""
        case .lookUp(let count): return count == 1 ? "The record was looked up by its name" : "\(count) records were looked up by their names"
        case .names(let index): return "The names for the value in \(index) were read in \(direction) order \(end)"
        case .members: return "The records of the type were read in \(direction) order of their names \(end)"
        case .collect(let index): return "All records that \(index) finds were read and sorted"
        case .nearest(let field): return "Growing circles around the location were searched in \(field) QUERYABLE \(end)"
        case .sort(let field): return "\(field) SORTABLE was read in \(direction) order \(end)"
        case .composite(let index):
            return "The composite index \(QueryIndex.composite(index).description) was read in \(direction) order for the value of its filter \(end)"
        case .collectMembers: return "All records of the type were read and sorted"
        }
    }
}
