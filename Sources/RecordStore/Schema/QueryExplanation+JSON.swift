public import JSON
internal import Records

extension JSONWriter {
    /// Writes the members of a query explanation (docs/services.md).
    public mutating func members(of explanation: QueryExplanation) {
        name("problems")
        array { writer in
            for problem in explanation.problems { writer.value(problem) }
        }
        name("candidates")
        array { writer in
            for candidate in explanation.candidates { writer.value(candidate) }
        }
        member("summary", explanation.summary)
        member("entriesRead", Int64(explanation.entriesRead))
        member("recordsRead", Int64(explanation.recordsRead))
        member("recordsReturned", Int64(explanation.recordsReturned))
        member("moreComing", explanation.hasMore)
        name("milliseconds")
        value(explanation.milliseconds)
        name("statements")
        array { writer in
            for statement in explanation.statements { writer.value(statement) }
        }
        name("advice")
        array { writer in
            for index in explanation.advice { writer.value(index) }
        }
    }

    private mutating func value(_ candidate: QueryExplanation.Candidate) {
        object { writer in
            writer.name("index")
            writer.value(candidate.index)
            writer.member("clause", candidate.clause)
            writer.member("standing", candidate.standing.rawValue)
            writer.member("reason", candidate.reason)
            guard let entries = candidate.entries else { return }
            writer.member("entries", Int64(entries))
            if candidate.isCutOff { writer.member("orMore", true) }
        }
    }

    private mutating func value(_ statement: QueryExplanation.Statement) {
        object { writer in
            writer.member("text", statement.text)
            writer.name("plan")
            writer.array { writer in
                for line in statement.plan { writer.value(line) }
            }
        }
    }

    /// Writes `{"field":"year","indexes":["SORTABLE"]}`, `{"filter":"author","sort":"year"}` or
    /// `{"recordNames":true}`.
    public mutating func value(_ index: QueryIndex) {
        object { writer in
            switch index {
            case .field(let key, let indexes):
                writer.member("field", key.schemaName)
                writer.name("indexes")
                writer.value(indexes)
            case .composite(let index): writer.members(of: index)
            case .recordNames: writer.member("recordNames", true)
            }
        }
    }
}
