internal import JSON
internal import RecordStore
internal import Records

// Decoding of query answers (docs/services.md).

extension Answer {
    func queryExplanation() throws -> QueryExplanation {
        QueryExplanation(
            problems: try array("problems").map { try $0.queryProblem() }, candidates: try array("candidates").map { try $0.candidate() },
            summary: try string("summary"), entriesRead: Int(try integer("entriesRead")), recordsRead: Int(try integer("recordsRead")),
            recordsReturned: Int(try integer("recordsReturned")), hasMore: try bool("moreComing"), milliseconds: try double("milliseconds"),
            statements: try array("statements").map { QueryExplanation.Statement(text: try $0.string("text"), plan: try $0.strings("plan")) },
            advice: try array("advice").map { try $0.compositeIndex() })
    }

    private func candidate() throws -> QueryExplanation.Candidate {
        guard let standing = QueryExplanation.Standing(rawValue: try string("standing")) else { throw unexpected("a standing that is known") }
        return QueryExplanation.Candidate(
            index: try object("index").queryIndex(), clause: try string("clause"), standing: standing, reason: try string("reason"),
            entries: has("entries") ? Int(try integer("entries")) : nil, isCutOff: has("orMore") ? try bool("orMore") : false)
    }

    private func queryIndex() throws -> QueryIndex {
        if has("recordNames") { return .recordNames }
        return has("filter") ? .composite(try compositeIndex()) : .field(try fieldKey(), try indexes())
    }

    private func queryProblem() throws -> QueryProblem {
        switch try string("problem") {
        case "SYSTEM_TYPE": return .systemType
        case "UNKNOWN_TYPE": return .unknownType(try name("recordType"))
        case "NO_INDEX": return .noIndex(try name("recordType"))
        case "UNKNOWN_FIELD": return .unknownField(try name("field"))
        case "MISSING_INDEX": return .missingIndex(try fieldKey(), try indexes(), word: try string("word"))
        case "INDEX_BEING_BUILT": return .indexBeingBuilt(try fieldKey(), try indexes(), percent: Int(try integer("percent")))
        case "INVALID":
            guard let error else { throw unexpected("an error") }
            return .invalid(error)
        default: throw unexpected("a problem that is known")
        }
    }

    func queryStatistics() throws -> QueryStatistics {
        QueryStatistics(
            since: try timestamp("since"), queries: Int(try integer("queries")), uses: try array("uses").map { try $0.indexUse() },
            refusals: try array("refusals").map { try $0.refusal() })
    }

    private func indexUse() throws -> QueryStatistics.Use {
        QueryStatistics.Use(
            recordType: try name("recordType"), index: try object("index").queryIndex(), count: Int(try integer("count")),
            last: try timestamp("last"))
    }

    private func refusal() throws -> QueryStatistics.Refusal {
        QueryStatistics.Refusal(
            query: try object("query").query(), problems: try array("problems").map { try $0.queryProblem() }, count: Int(try integer("count")),
            last: try timestamp("last"), userRecordName: try name("userRecordName"))
    }

    private func query() throws -> Query {
        Query(
            recordType: try name("recordType"), filters: try array("filterBy").map { try $0.filter() },
            sorts: try array("sortBy").map { try $0.sort() })
    }

    private func filter() throws -> Query.Filter {
        guard let comparator = Comparator(rawValue: try string("comparator")) else { throw unexpected("a comparator that is known") }
        let fieldName = try name("fieldName")
        guard let value = try value("fieldValue") else { throw unexpected("a value 'fieldValue'") }
        return Query.Filter(fieldName, comparator, try FieldInput(value, field: fieldName), distance: has("distance") ? try double("distance") : nil)
    }

    private func sort() throws -> Query.Sort {
        let fieldName = try name("fieldName")
        let input = try value("relativeLocation").map { try FieldInput($0, field: fieldName) }
        let location: Location? = if case .location(let location)? = input?.value(declared: .location) { location } else { nil }
        return Query.Sort(fieldName, ascending: try bool("ascending"), relativeLocation: location)
    }

    private func double(_ name: Name) throws -> Double {
        switch try value(name) {
        case .double(let double)?: return double
        case .integer(let integer)?: return Double(integer)
        default: throw unexpected("a number '\(name)'")
        }
    }
}
