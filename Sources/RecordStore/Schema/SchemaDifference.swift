public import Records

/// The differences between two schemas.
///
/// These are ignored: composite indexes, which are not exported or deployed; the order of grants; and whether a number
/// is spelled NUMBER or as its stored type. Every container has the `Users` type, so a schema without it leaves that
/// type unchanged. The type of shares is created with the first share; a schema without it, or without CloudKit's own
/// fields of it, leaves them unchanged too.
public struct SchemaDifference: Sendable, Hashable {
    public enum Change: Sendable, Hashable {
        case addRole(Name)
        case removeRole(Name)
        case addType(RecordType)
        case removeType(RecordType)
        case addField(FieldKey, FieldDefinition, in: Name)
        case removeField(FieldKey, FieldDefinition, in: Name)
        /// The type of a field differs; its indexes may differ too.
        case changeField(FieldKey, from: FieldDefinition, to: FieldDefinition, in: Name)
        case setIndexes(FieldKey, from: Indexes, to: Indexes, in: Name)
        case setGrants(from: [Grant], to: [Grant], in: Name)
    }

    /// Roles first, then ordered by type.
    public let changes: [Change]

    public var isEmpty: Bool { changes.isEmpty }

    public init(from before: Schema, to after: Schema) {
        var changes = after.roles.subtracting(before.roles).sorted().map { Change.addRole($0) }
        changes += before.roles.subtracting(after.roles).sorted().map { .removeRole($0) }
        for name in Set(before.types.keys).union(after.types.keys).sorted() {
            switch (before.types[name], after.types[name]) {
            case (let old?, let new?): changes += Self.changes(from: old, to: new)
            case (_, _) where name == Schema.usersType: break
            case (_?, nil) where name == Share.recordType: break
            case (let old?, nil): changes.append(.removeType(old))
            case (nil, let new?): changes.append(.addType(new))
            case (nil, nil): break
            }
        }
        self.init(changes)
    }

    init(_ changes: [Change]) {
        self.changes = changes
    }

    /// Changes that lose data: removed types and fields, and fields that get another type.
    public var losses: [Change] { changes.filter(\.losesSomething) }

    /// Edits that turn the first schema into the second, in a valid order.
    public var edits: [SchemaEdit] {
        var (first, removals, additions, settings, last):
            ([SchemaEdit], [SchemaEdit], [SchemaEdit], [SchemaEdit], [SchemaEdit]) = ([], [], [], [], [])
        /// Additions to existing types, so that each type is extended by one edit.
        var grown: [Name: RecordType] = [:]
        func grow(_ typeName: Name, by key: FieldKey, _ definition: FieldDefinition) {
            guard case .custom(let name) = key else { return }
            grown[typeName, default: RecordType(name: typeName)].fields[name] = definition
        }
        for change in changes {
            switch change {
            case .addRole(let role): first.append(.addRole(role))
            case .removeRole(let role): last.append(.removeRole(role))
            case .addType(var type):
                type.compositeIndexes = []
                additions.append(.addType(type))
            case .removeType(let type): removals.append(.removeType(type.name))
            case .addField(let key, let definition, let type): grow(type, by: key, definition)
            case .removeField(let key, _, let type): removals.append(.removeField(key.schemaName, in: type))
            case .changeField(let key, _, let definition, let type):
                removals.append(.removeField(key.schemaName, in: type))
                grow(type, by: key, definition)
            case .setIndexes(let key, _, let indexes, let type):
                settings.append(.setIndexes(indexes, of: key, in: type))
            case .setGrants(_, let grants, let type): settings.append(.setGrants(grants, of: type))
            }
        }
        additions += grown.sorted { $0.key < $1.key }.map { .addType($0.value) }
        return first + removals + additions + settings + last
    }

    /// Edits that add what the second schema has in addition, without removing anything.
    var additions: [SchemaEdit] {
        edits.compactMap { edit in
            switch edit {
            case .setIndexes(let indexes, let key, let type):
                let gained = changes.reduce(into: indexes) { rest, change in
                    if case .setIndexes(key, let before, _, type) = change { rest.subtract(before) }
                }
                return gained.isEmpty ? nil : .addIndexes(gained, of: key, in: type)
            case .setGrants(let grants, let type):
                let before = changes.reduce(into: [Name: Set<Grant.Permission>]()) { before, change in
                    if case .setGrants(let grants, _, type) = change {
                        for grant in grants { before[grant.role] = grant.permissions }
                    }
                }
                let gained = grants.map {
                    Grant(role: $0.role, permissions: $0.permissions.subtracting(before[$0.role] ?? []))
                }.filter { !$0.permissions.isEmpty }
                return gained.isEmpty ? nil : .addGrants(gained, of: type)
            case .removeType, .removeField, .removeRole: return nil
            case .addType, .addIndexes, .dropIndexes, .addGrants, .addRole, .addCompositeIndex, .removeCompositeIndex:
                return edit
            }
        }
    }

    /// One line per change, such as `Item: field 'author' STRING QUERYABLE added`.
    public var lines: [String] { changes.map(\.line) }

    private static func changes(from old: RecordType, to new: RecordType) -> [Change] {
        var changes: [Change] = []
        let keys =
            Set(old.fields.keys).union(new.fields.keys).map { FieldKey.custom($0) }
            + Set(old.systemIndexes.keys).union(new.systemIndexes.keys).map { .system($0) }
        for key in keys.sorted(by: { $0.schemaName < $1.schemaName }) {
            switch (old.definition(of: key), new.definition(of: key)) {
            case (let before?, let after?) where !before.type.holdsSameValues(as: after.type):
                changes.append(.changeField(key, from: before, to: after, in: new.name))
            case (let before?, let after?):
                if before.indexes != after.indexes {
                    changes.append(.setIndexes(key, from: before.indexes, to: after.indexes, in: new.name))
                }
            case (_?, nil) where new.name == Share.recordType && Share.type.fields[key.schemaName] != nil: break
            case (let before?, nil): changes.append(.removeField(key, before, in: new.name))
            case (nil, let after?): changes.append(.addField(key, after, in: new.name))
            case (nil, nil): break
            }
        }
        let (before, after) = (Grant.canonical(old.grants), Grant.canonical(new.grants))
        if before != after { changes.append(.setGrants(from: before, to: after, in: new.name)) }
        return changes
    }
}

extension SchemaDifference.Change {
    /// The changed type; `nil` for roles.
    public var recordType: Name? {
        switch self {
        case .addRole, .removeRole: nil
        case .addType(let type), .removeType(let type): type.name
        case .addField(_, _, let name), .removeField(_, _, let name), .changeField(_, _, _, let name),
            .setIndexes(_, _, _, let name),
            .setGrants(_, _, let name):
            name
        }
    }

    /// The changed field; `nil` for other changes.
    public var field: FieldKey? {
        switch self {
        case .addField(let key, _, _), .removeField(let key, _, _), .changeField(let key, _, _, _),
            .setIndexes(let key, _, _, _):
            key
        case .addRole, .removeRole, .addType, .removeType, .setGrants: nil
        }
    }

    /// True if a type or field is removed or gets another type.
    public var losesSomething: Bool {
        switch self {
        case .removeType, .removeField, .changeField: true
        case .addRole, .removeRole, .addType, .addField, .setIndexes, .setGrants: false
        }
    }

    /// Indexes that an existing field loses.
    public var droppedIndexes: Indexes {
        if case .setIndexes(_, let before, let after, _) = self { before.subtracting(after) } else { [] }
    }

    /// A line such as `Item: field 'author' STRING QUERYABLE added`.
    public var line: String {
        switch self {
        case .addRole(let role): "Role '\(role)' added"
        case .removeRole(let role): "Role '\(role)' deleted"
        case .addType(let type): "\(type.name): type added\(Self.fields(of: type))"
        case .removeType(let type): "\(type.name): type deleted\(Self.fields(of: type))"
        case .addField(let key, let definition, let type):
            "\(type): field '\(key.schemaName)' \(definition.schemaText) added"
        case .removeField(let key, let definition, let type):
            "\(type): field '\(key.schemaName)' \(definition.schemaText) deleted"
        case .changeField(let key, let before, let after, let type):
            "\(type): field '\(key.schemaName)' becomes \(after.schemaText), was \(before.schemaText)"
        case .setIndexes(let key, let before, let after, let type):
            "\(type): field '\(key.schemaName)': "
                + [(after.subtracting(before), "added"), (before.subtracting(after), "deleted")].filter {
                    !$0.0.isEmpty
                }
                .map { "\($0.0.names.joined(separator: " ")) \($0.1)" }.joined(separator: ", ")
        case .setGrants(let before, let after, let type):
            "\(type): grants " + (after.isEmpty ? "none" : after.map(Self.words).joined(separator: "; ")) + ", were "
                + (before.isEmpty ? "none" : before.map(Self.words).joined(separator: "; "))
        }
    }

    /// Maximum number of fields in the line of a type, which may have hundreds.
    private static let fieldsShown = 12

    private static func fields(of type: RecordType) -> String {
        if type.fields.isEmpty { return " without fields" }
        let names = type.fields.sorted { $0.key < $1.key }.prefix(fieldsShown).map {
            "'\($0.key)' \($0.value.schemaText)"
        }
        return " with \(type.fields.count == 1 ? "1 field" : "\(type.fields.count) fields"): "
            + names.joined(separator: ", ")
            + (type.fields.count > fieldsShown ? " and \(type.fields.count - fieldsShown) more" : "")
    }

    private static func words(for grant: Grant) -> String {
        String(grant.schemaText.dropFirst("GRANT ".count))
    }
}

// MARK: - Spelling

/// A field with another spelling in the schema language, such as NUMBER for DOUBLE, or with an idle index added or
/// removed. This changes only the exported text.
public struct SchemaRespelling: Sendable, Hashable {
    public var recordType: Name
    public var field: Name
    /// The first spelling, without the indexes that queries can use.
    public var from: FieldDefinition
    public var to: FieldDefinition

    /// A line in the style of ``SchemaDifference``.
    public var line: String { "\(recordType): field '\(field)' \(from.schemaText) is written \(to.schemaText)" }

    var edit: SchemaEdit { .addType(RecordType(name: recordType, fields: [field: to])) }

    /// Fields of both schemas whose spelling differs, ordered by type and field.
    public static func all(from before: Schema, to after: Schema) -> [SchemaRespelling] {
        after.sortedTypes.flatMap { type in
            type.fields.sorted { $0.key < $1.key }.compactMap { name, definition in
                guard let was = before.types[type.name]?.fields[name], was.type.holdsSameValues(as: definition.type)
                else { return nil }
                let respelling = SchemaRespelling(
                    recordType: type.name, field: name, from: was.spelling, to: definition.spelling)
                return respelling.from == respelling.to ? nil : respelling
            }
        }
    }
}

extension FieldDefinition {
    fileprivate var spelling: FieldDefinition { FieldDefinition(type: type, idleIndexes: idleIndexes) }
}

// MARK: - Losses

/// Data that a schema change removes permanently.
public struct SchemaLoss: Sendable, Hashable {
    /// A removed type or field, or a field that gets another type.
    public var change: SchemaDifference.Change
    /// Number of records of the type, or with a value in the field; `nil` if not counted.
    public var records: Int?

    public init(change: SchemaDifference.Change, records: Int?) {
        self.change = change
        self.records = records
    }

    /// A line such as `Item: field 'author' STRING deleted; its values in 12 records are deleted`.
    public var line: String {
        guard let records else { return change.line }
        let count = records == 1 ? "1 record" : "\(records) records"
        let loss =
            if case .removeType = change {
                records == 0 ? "it has no records" : "its \(count) \(records == 1 ? "is" : "are") deleted"
            } else {
                records == 0 ? "no record has a value in it" : "its values in \(count) are deleted"
            }
        return "\(change.line); \(loss)"
    }

    /// Counts the losses of changes, by type.
    static func losses(of changes: [SchemaDifference.Change], measuredBy database: any RecordDatabase) async throws
        -> [SchemaLoss]
    {
        let changes = changes.filter(\.losesSomething)
        guard let measuring = database.part(.measureTypes) else {
            return changes.map { SchemaLoss(change: $0, records: nil) }
        }
        var fields: [Name: Set<Name>] = [:]
        for change in changes {
            guard let type = change.recordType else { continue }
            fields[type, default: []].formUnion(change.field.map { [$0.schemaName] } ?? [])
        }
        var counts: [Name: ValueCounts] = [:]
        for (type, fields) in fields { counts[type] = try await measuring.valueCounts(of: fields, in: type) }
        return changes.map { change in
            let counts = change.recordType.flatMap { counts[$0] }
            return SchemaLoss(
                change: change, records: change.field.map { counts?.values[$0.schemaName] ?? 0 } ?? counts?.records)
        }
    }
}

// MARK: - JSON

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
                writer.member("from", values: before) { $0.value($1) }
                writer.member("to", values: after) { $0.value($1) }
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
