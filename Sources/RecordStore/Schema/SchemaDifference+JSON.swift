public import JSON
internal import Records

extension JSONWriter {
    /// Writes schema changes, one for each line of the difference (docs/services.md).
    public mutating func value(_ difference: SchemaDifference) {
        array { writer in
            for change in difference.changes { writer.value(change) }
        }
    }

    /// Writes
    /// `{"change":"ADD_FIELD","recordType":"Item","field":"author","type":"STRING","indexes":["QUERYABLE"],…}`.
    public mutating func value(_ change: SchemaDifference.Change) {
        object { writer in
            switch change {
            case .addRole(let name):
                writer.member("change", "ADD_ROLE")
                writer.member("role", name)
            case .removeRole(let name):
                writer.member("change", "REMOVE_ROLE")
                writer.member("role", name)
            case .addType(let type):
                writer.member("change", "ADD_TYPE")
                writer.member("recordType", type.name)
                writer.name("type")
                writer.value(type)
            case .removeType(let type):
                writer.member("change", "REMOVE_TYPE")
                writer.member("recordType", type.name)
                writer.name("type")
                writer.value(type)
            case .addField(let key, let definition, let recordType):
                writer.member("change", "ADD_FIELD")
                writer.members(of: key, in: recordType)
                writer.members(of: definition)
            case .removeField(let key, let definition, let recordType):
                writer.member("change", "REMOVE_FIELD")
                writer.members(of: key, in: recordType)
                writer.members(of: definition)
            case .changeField(let key, let before, let after, let recordType):
                writer.member("change", "CHANGE_FIELD")
                writer.members(of: key, in: recordType)
                writer.name("from")
                writer.object { $0.members(of: before) }
                writer.name("to")
                writer.object { $0.members(of: after) }
            case .setIndexes(let key, let before, let after, let recordType):
                writer.member("change", "SET_INDEXES")
                writer.members(of: key, in: recordType)
                writer.name("from")
                writer.value(before)
                writer.name("to")
                writer.value(after)
            case .setGrants(let before, let after, let recordType):
                writer.member("change", "SET_GRANTS")
                writer.member("recordType", recordType)
                writer.name("from")
                writer.array { writer in
                    for grant in before { writer.value(grant) }
                }
                writer.name("to")
                writer.array { writer in
                    for grant in after { writer.value(grant) }
                }
            }
            writer.member("line", change.line)
        }
    }

    /// Writes `{"change":{…},"records":12,"line":"…"}`.
    public mutating func value(_ loss: SchemaLoss) {
        object { writer in
            writer.name("change")
            writer.value(loss.change)
            if let records = loss.records { writer.member("records", Int64(records)) }
            writer.member("line", loss.line)
        }
    }

    private mutating func members(of key: FieldKey, in recordType: Name) {
        member("recordType", recordType)
        member("field", key.schemaName)
    }
}
