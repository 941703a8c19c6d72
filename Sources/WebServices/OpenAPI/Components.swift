internal import JSON

/// The named schemas: the parts of requests and answers (Apple's reference page "Types and Dictionaries").
enum Components: String, CaseIterable, Sendable {
    // The protocol's.
    case failure = "Failure"
    case recordError = "RecordError"
    case fieldError = "FieldError"
    case zoneError = "ZoneError"
    case zoneID = "ZoneID"
    case zone = "Zone"
    case deletedZone = "DeletedZone"
    case record = "Record"
    case deletedRecord = "DeletedRecord"
    case newRecord = "NewRecord"
    case recordOperation = "RecordOperation"
    case field = "Field"
    case newField = "NewField"
    case fieldValue = "FieldValue"
    case fieldType = "FieldType"
    case reference = "Reference"
    case location = "Location"
    case asset = "Asset"
    case uploadedAsset = "UploadedAsset"
    case stamp = "Stamp"
    case query = "Query"
    case filter = "Filter"
    case sort = "Sort"
    case userIdentity = "UserIdentity"
    case userLookup = "UserLookup"
    case userError = "UserError"
    // Skylight's own.
    case change = "Change"
    case schema = "Schema"
    case recordType = "RecordType"
    case fieldDefinition = "FieldDefinition"
    case indexes = "Indexes"
    case grant = "Grant"
    case compositeIndex = "CompositeIndex"
    case schemaEdit = "SchemaEdit"
    case schemaChange = "SchemaChange"
    case indexBuild = "IndexBuild"
    case queryIndex = "QueryIndex"
    case queryProblem = "QueryProblem"
    case servedRequest = "ServedRequest"
    case servedError = "ServedError"
    case client = "Client"
    case seenClient = "SeenClient"

    var schema: JSONSchema {
        switch self {
        case .failure: Self.failureSchema
        case .recordError: Self.recordErrorSchema
        case .fieldError: Self.fieldErrorSchema
        case .zoneError: Self.zoneErrorSchema
        case .zoneID: Self.zoneIDSchema
        case .zone: Self.zoneSchema
        case .deletedZone: Self.deletedZoneSchema
        case .record: Self.recordSchema
        case .deletedRecord: Self.deletedRecordSchema
        case .newRecord: Self.newRecordSchema
        case .recordOperation: Self.recordOperationSchema
        case .field: Self.fieldSchema
        case .newField: Self.newFieldSchema
        case .fieldValue: Self.fieldValueSchema
        case .fieldType: Self.fieldTypeSchema
        case .reference: Self.referenceSchema
        case .location: Self.locationSchema
        case .asset: Self.assetSchema
        case .uploadedAsset: Self.uploadedAssetSchema
        case .stamp: Self.stampSchema
        case .query: Self.querySchema
        case .filter: Self.filterSchema
        case .sort: Self.sortSchema
        case .userIdentity: Self.userIdentitySchema
        case .userLookup: Self.userLookupSchema
        case .userError: Self.userErrorSchema
        case .change: Self.changeSchema
        case .schema: Self.schemaSchema
        case .recordType: Self.recordTypeSchema
        case .fieldDefinition: Self.fieldDefinitionSchema
        case .indexes: Self.indexesSchema
        case .grant: Self.grantSchema
        case .compositeIndex: Self.compositeIndexSchema
        case .schemaEdit: Self.schemaEditSchema
        case .schemaChange: Self.schemaChangeSchema
        case .indexBuild: Self.indexBuildSchema
        case .queryIndex: Self.queryIndexSchema
        case .queryProblem: Self.queryProblemSchema
        case .servedRequest: Self.servedRequestSchema
        case .servedError: Self.servedErrorSchema
        case .client: Self.clientSchema
        case .seenClient: Self.seenClientSchema
        }
    }
}
