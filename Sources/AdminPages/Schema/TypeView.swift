internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page of a record type: its fields and indexes, composite indexes, grants, and the usage of its fields.
struct TypeView: Page {
    static let template = "type"
    static let tab = Tab.types

    /// Measurements over all records of the type.
    struct Measured: ViewModel {
        let records: String
        /// Fields without a value in any record.
        let neverFilled: String?
    }

    struct NewField: ViewModel {
        let action: String
        let types: [ChoiceGroup]
        let nameLimit: String
    }

    let title: String
    let name: String
    let isSystemType: Bool
    let canEdit: Bool
    /// True if the table has buttons to remove fields. False if it shows the usage, which needs the space.
    let showsRemoval: Bool
    let isProduction: Bool
    let notice: String?
    let indexNotice: IndexNotice?
    let query: String
    let newRecord: String
    /// The link to the confirmation of the removal; `nil` if the type can't be removed.
    let remove: String?
    let works: IndexWorkPanel?
    /// True if the tables update while index jobs run. False if they show the usage, which would be measured again and again.
    let isLive: Bool
    /// The page Indexes, which reloads itself during index jobs. This page does not reload, because that would discard input.
    let indexes: String
    let fields: [FieldRow]
    let systemFields: [FieldRow]
    let indexNames: [String]
    let isMeasured: Bool
    let columns: String
    let measured: Measured?
    /// This page with the usage of each field; `nil` if the engine can't measure it, or the page already shows it.
    let measure: String?
    /// The address of the index forms.
    let action: String
    /// This page after a change. It omits the usage, which was not requested again.
    let back: String
    /// The address of this page, for the way back after an error.
    let here: String
    let newField: NewField?
    let composites: [CompositeIndexRow]
    /// False, because all composite indexes belong to this type.
    let showsTypes = false
    let newComposite: CompositeIndexForm?
    let compositeAction: String
    /// `nil` for a type whose records have no titles.
    let titleForm: TitleForm?
    let grants: [GrantRow]
    let editGrants: String
    let text: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> TypeView {
        let name = Name(visit.fields["type"] ?? "")
        guard let type = visit.schema?.types[name] else { throw RecordError(known: .unknownType, name) }
        let works = try await visit.indexWorks()
        let canMeasure = visit.database.can(.measureTypes)
        let isAsked = visit.fields.text("usage") != nil
        var usage: TypeUsage?
        if isAsked, canMeasure { usage = try await visit.measure { try await visit.database.usage(of: name) } }
        let reachable = try await records(Set(usage?.fields.compactMap(\.largestRecord) ?? []), of: name, visit: visit)
        let isSystemType = name == Schema.usersType
        func rows(_ isIncluded: (QueryField) -> Bool) -> [FieldRow] {
            QueryField.all(of: type).filter(isIncluded).map {
                FieldRow($0, of: type, works: works, usage: usage, reachable: reachable, visit: visit)
            }
        }
        let here = [("type", name.string)] + (isAsked ? [("usage", "1")] : [])
        let back = visit.place.link("type", [("type", name.string)])
        return TypeView(
            title: name.string, name: name.string, isSystemType: isSystemType, canEdit: visit.canEditSchema,
            showsRemoval: visit.canEditSchema && usage == nil, isProduction: visit.place.address.environment == .production,
            notice: Notice.text(visit.fields["notice"]), indexNotice: IndexNotice(visit, on: back), query: visit.place.link("query", [("type", name.string)]),
            newRecord: visit.place.link("record/new", [("type", name.string)]),
            remove: visit.canEditSchema && !isSystemType ? visit.place.link("type/remove", [("type", name.string)]) : nil, works: works.panel,
            isLive: works.panel != nil && usage == nil, indexes: visit.place.link("indexes"),
            fields: rows { !$0.isSystem }.sorted { Name($0.name) < Name($1.name) }, systemFields: rows(\.isSystem),
            indexNames: Indexes.named.map(\.name), isMeasured: usage != nil,
            columns: String(5 + (usage != nil ? 4 : visit.canEditSchema ? 1 : 0)), measured: usage.map { Measured($0) },
            measure: !canMeasure || isAsked ? nil : visit.place.link("type", [("type", name.string), ("usage", "1")]),
            action: visit.place.link("type/indexes"), back: back,
            here: visit.place.link("type", here),
            newField: visit.canEditSchema
                ? NewField(action: visit.place.link("field/add"), types: FieldTypeChoices.groups, nameLimit: String(Field.nameLimit)) : nil,
            composites: CompositeIndexRow.all(of: type, works: works, usage: usage, visit: visit),
            newComposite: visit.database.can(.editSchema) && !isSystemType ? CompositeIndexForm(type) : nil,
            compositeAction: visit.place.link("composites/change"), titleForm: isSystemType ? nil : TitleForm(type, visit), grants: type.sortedGrants.map { GrantRow($0) },
            editGrants: visit.place.link("roles", [("type", name.string)]), text: type.schemaStatement + ";",
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// The records of the set that are in the current database.
    private static func records(_ wanted: Set<RecordID>, of typeName: Name, visit: Visit) async throws -> Set<RecordID> {
        if wanted.isEmpty { return [] }
        let recordIDs = Array(wanted)
        let results = try await visit.measure { try await visit.database.fetch(recordIDs, desiredKeys: []) }
        let found = zip(recordIDs, results).filter { _, result in (try? result.get())?.recordType == typeName }
        return Set(found.map(\.0))
    }
}

extension TypeView.Measured {
    fileprivate init(_ usage: TypeUsage) {
        records = Digits.count(usage.records, "record")
        let unused = usage.fields.compactMap { field -> String? in
            if case .custom(let name) = field.key, field.records == 0 { name.string } else { nil }
        }
        neverFilled = usage.records == 0 || unused.isEmpty ? nil : unused.joined(separator: ", ")
    }
}
