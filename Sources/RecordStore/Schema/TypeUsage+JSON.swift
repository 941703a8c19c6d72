public import JSON
internal import Records

extension JSONWriter {
    /// Writes the measurements of a type (docs/queries.md).
    public mutating func value(_ usage: TypeUsage) {
        object { writer in
            writer.member("recordType", usage.recordType)
            writer.member("records", Int64(usage.records))
            writer.name("fields")
            writer.array { writer in
                for field in usage.fields { writer.value(field) }
            }
            guard !usage.compositeBytes.isEmpty else { return }
            writer.name("compositeIndexes")
            writer.array { writer in
                let indexes = usage.compositeBytes.sorted {
                    ($0.key.filter.schemaName, $0.key.sort.schemaName) < ($1.key.filter.schemaName, $1.key.sort.schemaName)
                }
                for (index, bytes) in indexes {
                    writer.object { writer in
                        writer.members(of: index)
                        writer.member("bytes", Int64(bytes))
                    }
                }
            }
        }
    }

    /// Writes record and value counts (docs/queries.md).
    public mutating func value(_ counts: ValueCounts) {
        object { writer in
            writer.member("records", Int64(counts.records))
            writer.name("values")
            writer.object { writer in
                for (name, count) in counts.values.sorted(by: { $0.key < $1.key }) { writer.member(name, Int64(count)) }
            }
        }
    }

    private mutating func value(_ field: TypeUsage.FieldUsage) {
        object { writer in
            writer.member("field", field.key.schemaName)
            writer.member("records", Int64(field.records))
            writer.member("distinctValues", Int64(field.distinctValues))
            if field.isCutOff { writer.member("orMore", true) }
            writer.member("largestBytes", Int64(field.largestBytes))
            if let recordID = field.largestRecord {
                writer.name("largestRecord")
                writer.object { writer in
                    writer.member("recordName", recordID.recordName)
                    writer.name("zoneID")
                    writer.value(recordID.zoneID)
                }
            }
            writer.member("entryBytes", Int64(field.entryBytes))
            writer.member("tokenBytes", Int64(field.tokenBytes))
        }
    }
}
