internal import JSON
internal import Records

// The parts of CloudKit's own requests and answers.

extension Components {
    // MARK: Errors

    private static let codes = JSONSchema.words(of: ServerErrorCode.self)
    private static let retryAfter = JSONSchema.count.described("Seconds to wait before the same request can succeed")

    static let failureSchema = JSONSchema.object(
        [
            "uuid": JSONSchema.string.described("What the request is known by; the page Requests and the header X-Skylight-Request have it too"),
            "serverErrorCode": codes, "reason": JSONSchema.string.described("What is wrong, by which rule, and what helps"),
        ],
        optional: [
            "retryAfter": retryAfter,
            "redirectURL": JSONSchema.string.described("Of AUTHENTICATION_REQUIRED: the page where a user signs in"),
        ]
    ).described("Why a request failed as a whole. The HTTP status says the code too")

    private static let itemError: KeyValuePairs<Name, JSONSchema> = ["serverErrorCode": codes, "reason": .string]

    static let recordErrorSchema = JSONSchema.object(itemError, optional: ["recordName": .string, "retryAfter": retryAfter])
        .described("Stands in the place of a record that could not be read or saved, in an answer with status 200")

    static let fieldErrorSchema = JSONSchema.object(
        itemError, optional: ["recordName": .string, "fieldName": .string, "retryAfter": retryAfter]
    ).described("Stands in the place of a file that could not be granted or found, in an answer with status 200")

    static let zoneErrorSchema = JSONSchema.object(itemError, optional: ["zoneID": .named(.zoneID), "retryAfter": retryAfter])
        .described("Stands in the place of a zone that could not be read or changed, in an answer with status 200")

    // MARK: Zones

    static let zoneIDSchema = JSONSchema.object(optional: [
        "zoneName": JSONSchema.string.described("Left out: the default zone, _defaultZone"),
        "ownerRecordName": JSONSchema.string.described("Whose zone it is; in the shared database it has to be said"),
        "zoneType": JSONSchema.words(["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"]).described("In answers"),
    ]).example(["zoneName": "Chats"])

    static let zoneSchema = JSONSchema.object(
        ["zoneID": .named(.zoneID), "atomic": JSONSchema.boolean.described("Whether a batch of changes can be made as a whole or not at all")],
        optional: ["syncToken": JSONSchema.string.described("Where the zone's changes stand now; the default zone has none")])

    static let deletedZoneSchema = JSONSchema.object(["zoneID": .named(.zoneID), "deleted": .boolean], optional: ["syncToken": .string])

    // MARK: Records

    static let stampSchema = JSONSchema.object(["timestamp": .timestamp, "userRecordName": .string, "deviceID": .string])
        .described("Who did something, when, and on which device")

    private static let parent = JSONSchema.object(["recordName": .string], optional: ["zoneID": .named(.zoneID)])

    static let recordSchema = JSONSchema.object(
        [
            "recordName": .string, "recordType": .string, "fields": .map(of: .named(.field)), "pluginFields": .object(),
            "recordChangeTag": JSONSchema.string.described("Another one after each change"), "created": .named(.stamp), "modified": .named(.stamp),
            "deleted": .boolean, "zoneID": .named(.zoneID),
        ], optional: ["parent": parent])

    static let deletedRecordSchema = JSONSchema.object(["recordName": .string, "deleted": .boolean])

    static let newRecordSchema = JSONSchema.object(optional: [
        "recordName": JSONSchema.string.described("255 bytes at most; of a record that is made, the server chooses one if there is none"),
        "recordType": JSONSchema.string.described("Has to be there where a record may be made"),
        "recordChangeTag": JSONSchema.string.described("Of the version that is changed; has to be there for update, replace and delete"),
        "fields": .map(of: .named(.newField)), "zoneID": .named(.zoneID), "parent": .any(of: parent, .null),
    ])

    static let recordOperationSchema = JSONSchema.object(
        ["operationType": .words(of: RecordOperation.Kind.self), "record": .named(.newRecord)],
        optional: ["desiredKeys": desiredKeys, "numbersAsStrings": .boolean]
    ).described(
        """
        `create` fails where the name is taken. `update` changes the fields it names and `replace` empties the others; both need the tag of the \
        version they change. `forceUpdate` and `forceReplace` do so whatever the version is, and make the record if there is none. `delete` needs \
        the tag, `forceDelete` doesn't, and succeeds where there is nothing to delete
        """)

    static let desiredKeys = JSONSchema.array(of: .string).described("The fields that the answer is to have; left out: all")

    // MARK: Fields

    static let fieldTypeSchema = JSONSchema.words(
        ValueType.allCases.flatMap { type in
            [false, true].flatMap { isEncrypted in
                [false, true].map { FieldType(type, isList: $0, isEncrypted: isEncrypted) }
            }
        }.filter { !$0.isEncrypted || $0.canBeEncrypted }.map(\.wireName) + ["ASSET", "ASSET_LIST"])

    static let fieldSchema = JSONSchema.object(
        ["value": .named(.fieldValue), "type": .named(.fieldType)], optional: ["isEncrypted": .boolean]
    ).example(["value": "Hello", "type": "STRING"])

    static let newFieldSchema = JSONSchema.any(
        of: .object(optional: ["value": .any(of: .named(.fieldValue), .boolean, .null), "type": .named(.fieldType), "isEncrypted": .boolean]), .string,
        .number, .boolean, .array(of: .any(of: .string, .number)), .null
    ).described(
        """
        A value with its type; without a type the schema decides, and where it knows no such field the value. A value may stand by itself, \
        without an object around it. `null` empties the field
        """)

    static let fieldValueSchema = JSONSchema.any(
        of: .string, .number, .named(.location), .named(.reference), .named(.asset),
        .array(of: .any(of: .string, .number, .named(.location), .named(.reference), .named(.asset)))
    ).described(
        """
        STRING: a string. INT64, DOUBLE: a number, or with `numbersAsStrings` a string. TIMESTAMP: milliseconds since 1970. BYTES: base64. LOCATION, \
        REFERENCE, ASSETID: an object. Lists: an array of those
        """)

    static let referenceSchema = JSONSchema.object(
        ["recordName": .string, "action": .words(of: Reference.Action.self)], optional: ["zoneID": .named(.zoneID)])

    static let locationSchema = JSONSchema.object(
        ["latitude": .number, "longitude": .number],
        optional: [
            "horizontalAccuracy": .number, "verticalAccuracy": .number, "altitude": .number, "speed": .number, "course": .number,
            "timestamp": .timestamp,
        ])

    private static let size = JSONSchema.any(of: .count, .string).described("Bytes; with `numbersAsStrings` in a string")

    static let assetSchema = JSONSchema.object(
        ["fileChecksum": .string, "size": size],
        optional: [
            "referenceChecksum": .string, "wrappingKey": .string, "receipt": JSONSchema.string.described("In requests: what the upload answered"),
            "fileName": .string, "downloadURL": JSONSchema.string.described("In answers: where the bytes are, for some hours"),
        ])

    static let uploadedAssetSchema = JSONSchema.object(
        ["fileChecksum": .string, "size": .count, "receipt": .string],
        optional: ["referenceChecksum": .string, "wrappingKey": .string, "fileName": .string]
    ).described("What goes into a field of a record that is saved")

    // MARK: Queries

    private static let fieldName: KeyValuePairs<Name, JSONSchema> = [
        "fieldName": .string,
        "systemFieldName": JSONSchema.words(SystemField.allCases.map(\.alias.string)).described("In place of `fieldName`"),
    ]

    static let filterSchema = JSONSchema.object(
        ["comparator": .words(of: Comparator.self), "fieldValue": .named(.newField)],
        optional: ["distance": JSONSchema.number.described("Metres, of NEAR")]
    ).adding(optional: fieldName)

    static let sortSchema = JSONSchema.object(optional: [
        "ascending": JSONSchema.boolean.described("true unless it is said"),
        "relativeLocation": JSONSchema.named(.newField).described("Orders by the distance from there"),
    ]).adding(optional: fieldName)

    static let querySchema = JSONSchema.object(
        ["recordType": .string], optional: ["filterBy": .array(of: .named(.filter)), "sortBy": .array(of: .named(.sort))]
    ).example([
        "recordType": "Message",
        "filterBy": [["fieldName": "size", "comparator": "GREATER_THAN", "fieldValue": ["value": 3, "type": "INT64"]]],
        "sortBy": [["fieldName": "sentAt", "ascending": false]],
    ])

    // MARK: Users

    static let nameComponents = JSONSchema.object(optional: ["givenName": .string, "familyName": .string])

    static let userErrorSchema = JSONSchema.object(
        itemError,
        optional: ["lookupInfo": .named(.userLookup), "emailAddress": .string, "phoneNumber": .string, "userRecordName": .string, "retryAfter": retryAfter]
    )
        .described("Stands in the place of a user who is not found, in an answer with status 200")

    static let userLookupSchema = JSONSchema.object(optional: ["emailAddress": .string, "phoneNumber": .string, "userRecordName": .string])

    static let userIdentitySchema = JSONSchema.object(
        ["userRecordName": .string],
        optional: [
            "nameComponents": nameComponents,
            "lookupInfo": JSONSchema.named(.userLookup).described("What the user was found by"),
        ])
}
