internal import JSON

/// A record type while its text is being parsed.
struct RecordTypeDraft {
    let name: Name
    var fields: [Name: FieldDefinition] = [:]
    var systemIndexes: [SystemField: Indexes] = [:]
    var grants: [Grant] = []
    /// Offsets of the field declarations.
    var places: [Name: Int] = [:]

    init(name: Name) {
        self.name = name
    }

    var type: RecordType {
        var type = RecordType(name: name, fields: fields, systemIndexes: systemIndexes, grants: Grant.canonical(grants))
        // Each container has this type with these fields, even if a file omits them.
        if name == Schema.usersType { type.fields.merge(Schema.users.fields) { declared, _ in declared } }
        if grants.isEmpty { type.grants = name == Schema.usersType ? Schema.users.grants : Grant.defaults }
        return type
    }
}
