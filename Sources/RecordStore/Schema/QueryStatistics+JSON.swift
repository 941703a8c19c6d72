public import JSON
internal import Records

extension JSONWriter {
    /// Writes query statistics (docs/queries.md).
    public mutating func value(_ statistics: QueryStatistics) {
        object { writer in
            writer.member("since", statistics.since.milliseconds)
            writer.member("queries", Int64(statistics.queries))
            writer.name("uses")
            writer.array { writer in
                for use in statistics.uses { writer.value(use) }
            }
            writer.name("refusals")
            writer.array { writer in
                for refusal in statistics.refusals { writer.value(refusal) }
            }
        }
    }

    private mutating func value(_ use: QueryStatistics.Use) {
        object { writer in
            writer.member("recordType", use.recordType)
            writer.name("index")
            writer.value(use.index)
            writer.member("count", Int64(use.count))
            writer.member("last", use.last.milliseconds)
        }
    }

    private mutating func value(_ refusal: QueryStatistics.Refusal) {
        object { writer in
            writer.name("query")
            writer.value(refusal.query)
            writer.name("problems")
            writer.array { writer in
                for problem in refusal.problems { writer.value(problem) }
            }
            writer.member("count", Int64(refusal.count))
            writer.member("last", refusal.last.milliseconds)
            writer.member("userRecordName", refusal.userRecordName)
        }
    }
}
