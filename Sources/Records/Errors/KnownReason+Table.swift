// The table of the error catalogue. To add an error, add a case to `KnownReason` and its row here.
//
// Parameters in texts are in braces; `{field}` is always the name of a field. Texts are CloudKit's own, or Skylight's.
// Causes and remedies are in Skylight's words.
extension KnownReason {
    var row: Row {
        switch self {
        // MARK: CloudKit: queries
        case .recordNameNotQueryable:
            Row(
                [.badRequest], framework: 12, "Field 'recordName' is not marked queryable",
                "Field '___recordID' is not marked queryable", evidence: .reported,
                cause: "A query without a filter uses recordName, and every type needs an index for it, added by "
                    + "hand.",
                remedy: "Mark recordName QUERYABLE on the type, in development, then deploy. In a schema file the "
                    + "same index is called ___recordID.")
        case .notQueryable:
            Row(
                [.badRequest], framework: 12, "Field '{field}' is not marked queryable", evidence: .reported,
                cause: "The filter uses a field without an index.",
                remedy: "Mark the field QUERYABLE, in development, then deploy. createdBy, ___modTime and the "
                    + "other system fields need it too.")
        case .notSortable:
            Row(
                [.badRequest], framework: 12, "Field '{field}' is not marked sortable", evidence: .reported,
                cause: "The query sorts by a field without a SORTABLE index. QUERYABLE does not sort.",
                remedy: "Mark the field SORTABLE, in development, then deploy.")
        case .notMarked:
            Row(
                [.badRequest], framework: 12, "Field '{field}' is not marked {index}", evidence: .reported,
                cause: "The query uses a field without the index that it needs.",
                remedy: "Add the index to the field, in development, then deploy.")
        case .typeNotIndexable:
            Row(
                [.badRequest], framework: 12, "Type is not marked indexable: {type}",
                "Queried type is not marked indexable", evidence: .reported,
                cause: "The type has no index at all, so it can't be queried.",
                remedy: "Mark recordName QUERYABLE, or the filtered field.")
        case .unknownType:
            Row(
                [.notFound, .badRequest], framework: 11, "Did not find record type: {type}", evidence: .reported,
                cause: "The type does not exist in this environment.",
                remedy: "Save a record of it in development, or deploy the schema to production.")
        case .unknownField:
            Row(
                [.badRequest], framework: 12, "Unknown field '{field}'", evidence: .reported,
                cause: "The type has no such field in this environment.",
                remedy: "Compare the spelling with the schema. Core Data's fields have the prefix CD_.")
        case .fieldNotFound:
            Row(
                [.badRequest, .notFound], "Did not find field: '{field}' in type: '{type}'", evidence: .reported,
                cause: "The type has no such field in this environment.",
                remedy: "Compare the spelling with the schema, and the environment.")
        case .systemTypeQueried:
            Row(
                [.badRequest], "Can't query system types", evidence: .reported,
                cause: "Users and shares can't be queried.",
                remedy: "Fetch the user's record by its name. Shares come with changes, and as the share of their "
                    + "root record.")
        case .wrongFilterType:
            Row(
                [.badRequest], framework: 12,
                "Field '{field}' has a value type of {type} and cannot be queried using filter value type {value}",
                evidence: .reported,
                cause: "The filter's value does not have the field's type.",
                remedy: "For a reference, send {\"recordName\": …} with the type REFERENCE, in Swift a "
                    + "CKRecord.Reference. Core Data keeps relationships as STRING: compare with the record's name.")
        case .encryptedFilter:
            Row(
                [.badRequest], framework: 12,
                "Field '{field}' has a value type of ENCRYPTED_{type} and cannot be queried using filter type {comparator}",
                evidence: .measured,
                cause: "Encrypted fields have no indexes, because only devices can read them.",
                remedy: "Fetch the records with changes and compare on the device, or keep what you query in a "
                    + "field that is not encrypted.")
        case .wrongComparator:
            Row(
                [.badRequest], framework: 12,
                "Field '{field}' has a value type of {type} and cannot be queried using filter type {comparator}",
                evidence: .likely,
                cause: "The comparator does not exist for the field's type.",
                remedy: "Use one of the comparators for the type, such as LIST_CONTAINS for a list.")
        case .tooManyFilterValues:
            Row(
                [], framework: 27, "Query filter exceeds the limit of values: {limit}", evidence: .likely,
                cause: "An IN filter has more values than CloudKit takes, which is 250.",
                remedy: "Split the values into several queries. Some containers were seen to fail with an internal "
                    + "error from about 190.")
        case .invalidPredicate:
            Row(
                [], framework: 12, "Invalid predicate{detail}", evidence: .reported,
                cause: "The NSPredicate uses what CloudKit does not have: OR, a comparison with nil, or a key that "
                    + "is not a field.",
                remedy: "CloudKit joins conditions with AND alone. Run one query for each side of an OR, or use IN.")

        // MARK: CloudKit: saves
        case .recordExists:
            Row(
                [.conflict], framework: 14, "record to insert already exists", evidence: .reported,
                cause: "The operation is ‘create’, or a CKRecord was made anew, but a record with this name "
                    + "exists. An earlier attempt may have saved it without a response.",
                remedy: "Fetch the record and update it, or save with a policy that does not compare tags. For "
                    + "cloudkit.zoneshare: the zone is shared already, so fetch its share.")
        case .staleTag:
            Row(
                [.conflict], framework: 14, "client oplock error updating record", evidence: .measured,
                cause: "Someone else saved the record after this client read it, so the sent tag is out of date. "
                    + "Sharing a record changes its tag too.",
                remedy: "Fetch it, apply your changes to the server's version, and save that. If it happens again "
                    + "and again, the client does not store the tags of its own saves.")
        case .tagOfDeletedRecord:
            Row(
                [.notFound], framework: 11, "recordChangeTag specified, but record not found", evidence: .reported,
                cause: "The record was deleted after this client read it.",
                remedy: "Delete it locally, or save it as a new record.")
        case .recordNotFound:
            Row(
                [.notFound], framework: 11, "Record not found", evidence: .reported,
                cause: "There is no record with this name in this zone of this database.",
                remedy: "Check the zone, database, user and environment.")
        case .wrongValueType:
            Row(
                [.badRequest], framework: 12,
                "invalid attempt to set value type {value} for field '{field}' for type '{type}', defined to be: {stored}",
                evidence: .reported,
                cause: "The field has another type. The schema, or the first save, set it.",
                remedy: "Send the value with the field's type. A field's type never changes; use a new field for "
                    + "another type.")
        case .encryptedValueType:
            Row(
                [.badRequest], framework: 12,
                "invalid attempt to set value type {value} for field '{field}' for type '{type}', defined to be: ENCRYPTED_{stored}",
                evidence: .measured,
                cause: "The field is encrypted, and the value was sent without its type or without isEncrypted. "
                    + "Without a type it counts as BYTES.",
                remedy: "Send both \"type\" and \"isEncrypted\": true. In Swift, set the value in encryptedValues.")
        case .encryptedInPublic:
            Row(
                [.badRequest], framework: 12, "encrypted fields are not supported in the public database",
                evidence: .measured,
                cause: "The public database belongs to the app, so there is no user whose key could encrypt.",
                remedy: "Save the record in the private database, or use a field that is not encrypted.")
        case .encryptedIntoPlain:
            Row(
                [.badRequest], framework: 12,
                "Attempt to save encrypted data in non encrypted field type. Field: '{field}'",
                "Attempt to save encrypted data in non encrypted field type", evidence: .reported,
                cause: "An encrypted value was sent for a field that is not encrypted. A field's type never "
                    + "changes.",
                remedy: "Use a new field with an ENCRYPTED type.")
        case .wrongValue:
            Row(
                [.badRequest], "Invalid value, expected type {type}. Field: '{field}'",
                "Invalid value, expected type {type}.", evidence: .reported,
                cause: "The value does not fit the type that was sent with it.",
                remedy: "Send dates as milliseconds, bytes as base64, whole numbers without a fraction.")
        case .newTypeInProduction:
            Row(
                [.notFound, .badRequest], framework: 12, "Cannot create new type {type} in production schema",
                evidence: .reported,
                cause: "Production has only deployed types. Saves never add any. For cloudkit.share: no share was "
                    + "ever saved in development.",
                remedy: "In development, save one record with every field set, check the type, then deploy the "
                    + "schema.")
        case .newFieldInProduction:
            Row(
                [.badRequest], framework: 12,
                "Cannot create or modify field '{field}' in record '{type}' in production schema",
                evidence: .reported,
                cause: "Production has only deployed fields. Saves never add any.",
                remedy: "In development, save one record with every field set, check the type, then deploy the "
                    + "schema. One missing field stops a whole sync.")
        case .badTypeName:
            Row(
                [.badRequest], framework: 12, "recordType ({type}) contains invalid characters", evidence: .likely,
                cause: "A record type has letters, digits and underscores, and starts with a letter. Names with a "
                    + "dot belong to CloudKit.",
                remedy: "Rename the type, for example A_B for A.B.")
        case .longRecordName:
            Row(
                [.badRequest], framework: 12, "recordName ({name}) is too long", evidence: .likely,
                cause: "A record name has at most 255 characters.",
                remedy: "Use a hash or a UUID as the name, and keep the long text in a field.")
        case .recordTooLarge:
            Row(
                [.badRequest, .quotaExceeded], framework: 27, "record too large", evidence: .likely,
                cause: "A record may have 1 MB without its assets.",
                remedy: "Put large values into an asset.")
        case .quotaExceeded:
            Row(
                [.quotaExceeded], framework: 25, "Quota exceeded", evidence: .reported,
                cause: "The storage of the database's owner is full. For a shared database, that is the owner of "
                    + "the zone.",
                remedy: "Keep unsaved changes and tell the user. Retry after CKErrorRetryAfterKey seconds, or when "
                    + "there is space.")
        case .stillReferenced:
            Row(
                [.validatingReferenceError], framework: 31,
                "Record delete would violate validating reference, rejecting update", evidence: .measured,
                cause: "Records with a VALIDATE reference still refer to it.",
                remedy: "Delete those records first, or in the same batch, or change the action of the reference. "
                    + "iCloud's text may name the record that refers to it.")
        case .parentCycle:
            Row(
                [.badRequest], framework: 12,
                "Cycle detected in record graph: the parent of the record '{name}' is the record itself, or below it",
                "Cycle detected in record graph", evidence: .apple,
                cause: "The parents of the records lead in a circle.",
                remedy: "Clear the parent of one of them. A record is never its own parent.")
        case .atomicFailure:
            Row(
                [.atomicError], framework: 22,
                "Atomic failure: the batch was not applied because another operation of it failed", "Atomic failure",
                evidence: .apple,
                cause: "One item of the batch failed, and the zone saves a batch as a whole or not at all.",
                remedy: "Find the item with another error, fix that, and send the whole batch again.")
        case .sameRecordTwice:
            Row(
                [], framework: 12, "You can't save the same record twice: {record}",
                "You can't save and delete the same record ({record}) in a single operation",
                "You can't delete the same record ({record}) twice in a single operation",
                "You can't save the same record twice", evidence: .apple,
                cause: "One CKModifyRecordsOperation has two records of the same name and zone. CloudKit.framework "
                    + "refuses it without a request.",
                remedy: "Merge the changes of each record before the operation is made, for example in a "
                    + "dictionary by record ID.")
        case .tooManyItems:
            Row(
                [], framework: 27,
                "Your request contains {count} items which is more than the maximum number of items in a single request ({limit})",
                evidence: .apple,
                cause: "The operation has more records than one request may have, or its resultsLimit is above "
                    + "that.",
                remedy: "Split it into operations of at most 400. For a query, leave resultsLimit out and follow "
                    + "the cursor.")
        case .arrayTooLong:
            Row(
                [.badRequest], "BadRequestException: array '{name}' length is greater than max size. {detail}",
                "array '{name}' length is greater than max size", evidence: .measured,
                cause: "The request has more items than the service takes: 200 in the web services.",
                remedy: "Send the rest in another request.")
        case .unexpectedInput:
            Row(
                [.badRequest], "BadRequestException: Unexpected input. {detail}",
                "BadRequestException: Unexpected input", evidence: .measured,
                cause: "The body does not have the expected structure. Skylight names the member after these "
                    + "words; iCloud does not.",
                remedy: "Compare the body with the documentation of the service. An IN filter needs a list with "
                    + "its type, such as STRING_LIST.")
        case .unexpectedFieldValue:
            Row(
                [.badRequest], "BadRequestException: Unexpected input. The list in field '{field}' {detail}",
                "BadRequestException: Unexpected input. The value of field '{field}' {detail}",
                cause: "The value of the field has no type that could be told from its JSON.",
                remedy: "Send {\"value\": …, \"type\": …}, and lists with values of one type.")
        case .badRequestException:
            Row(
                [.badRequest], "BadRequestException: {detail}", evidence: .reported,
                cause: "The body lacks a member, or has one that the service does not take.",
                remedy: "Compare the body with the documentation of the service.")

        // MARK: CloudKit: zones and changes
        case .zoneNotFound:
            Row(
                [.zoneNotFound, .notFound], framework: 26, "Zone does not exist", "Zone '{zone}' does not exist",
                evidence: .reported,
                cause: "The zone was never created in this database, or was deleted, or the device has another "
                    + "account than before.",
                remedy: "Create it first. If it existed, delete the client's copy and its token. In a shared "
                    + "database, the zone ID needs the owner's record name.")
        case .zonePurged:
            Row(
                [.zoneNotFound, .badRequest], framework: 28, "Zone was purged by user", evidence: .reported,
                cause: "The user deleted the app's data of this zone in the system's settings.",
                remedy: "Delete the client's copy, and ask the user before uploading again.")
        case .expiredToken:
            Row(
                [.badRequest], framework: 21, "client knowledge differs from server knowledge", evidence: .reported,
                cause: "The change token has expired: later deletions were purged, the zone was deleted and "
                    + "created again, or the store was restored.",
                remedy: "Pull the zone without a token, store every record, then delete local records that were "
                    + "not returned.")
        case .unknownToken:
            Row(
                [.badRequest], "Unknown sync continuation type", evidence: .measured,
                cause: "The token is damaged, or belongs to another zone, database or user. A database token is "
                    + "not a zone token.",
                remedy: "Keep one token for each zone and one for the database, and send each unchanged. The page "
                    + "Decode explains a token.")
        case .noFeed:
            Row(
                [.badRequest], framework: 15, "syncToken operations supported only in SyncZone",
                "AppDefaultZone does not support getChanges call", "AppDefaultZone does not support sync semantics",
                evidence: .reported,
                cause: "The default zone has no changes feed.",
                remedy: "Save synced records in a custom zone.")
        case .reverseShared:
            Row(
                [.badRequest], "Reverse sync of share db is unsupported", evidence: .measured,
                cause: "‘reverse’ does not exist in the shared database.",
                remedy: "Leave it out, or pull the zone from its owner's private database.")
        case .otherUsersZone:
            Row(
                [.badRequest, .accessDenied], framework: 12, "PrivateDB can't be used to access another user's zone",
                evidence: .reported,
                cause: "The zone belongs to another user, who shared it, and the request went to the private "
                    + "database.",
                remedy: "Send it to sharedCloudDatabase. Choose the database by the owner of the zone ID, not by "
                    + "the screen: CKCurrentUserDefaultName is private.")
        case .onlySharedZones:
            Row(
                [.badRequest, .accessDenied], framework: 12, "Only shared zones can be accessed in the shared DB",
                evidence: .reported,
                cause: "The zone is the user's own, and the request went to the shared database. Zones can't be "
                    + "created there either.",
                remedy: "Send it to privateCloudDatabase. For a shared zone, use the zone ID that came with the "
                    + "share, with its owner's name.")
        case .sharedZoneUpdate:
            Row(
                [], framework: 10, "Shared zone update is not enabled for container", evidence: .likely,
                cause: "A guest tried to save or change the zone itself in the shared database.",
                remedy: "Save records only: the zone was made by its owner. CKSyncEngine of the shared database "
                    + "needs no saveZone.")
        case .zoneProtection:
            Row(
                [], framework: 14, "Protection data didn't match", evidence: .apple,
                cause: "Two devices made the keys of the zone, the record or the share at the same time, or the "
                    + "user reset the encrypted data.",
                remedy: "Fetch the zone again, then retry. If CKErrorUserDidResetEncryptedDataKey is set, create "
                    + "the zone again and upload.")

        // MARK: CloudKit: sharing
        case .noRootToShare:
            Row(
                [.notFound, .badRequest], "Cannot share - no such record exists to share", evidence: .reported,
                cause: "The root of the share is not saved in the zone.",
                remedy: "Save the root first, or in the same request before the share. Its zone is a custom one of "
                    + "the private database.")
        case .shareWithoutRoot:
            Row(
                [], framework: 12, "An added share is being saved without its rootRecord{detail}", evidence: .apple,
                cause: "A new CKShare and its root are saved in one operation, and the root is missing.",
                remedy: "Save both in one CKModifyRecordsOperation. A share that exists is fetched and saved alone.")
        case .shareLinkTooEarly:
            Row(
                [], "You cannot get the URL of a share until it's been saved to the server", evidence: .apple,
                cause: "The link is read from the CKShare that was made, not from the one that was saved.",
                remedy: "Wait until the save ends, and use the share that it returns. A new root is saved with it.")
        case .participantsConflict:
            Row(
                [], framework: 14, "Participants conflict while trying to update share from the server{detail}",
                evidence: .apple,
                cause: "Two devices changed the participants of a share at the same time.",
                remedy: "Fetch the share, apply your change to its participants, and save it again.")

        // MARK: CloudKit: subscriptions
        case .duplicateSubscription:
            Row(
                [.internalError, .badRequest], framework: 15, "could not find subscription we just created",
                "subscription is duplicate of '{id}'", evidence: .measured,
                cause: "There is a subscription with the same query, zone and events under another ID. It is a "
                    + "duplicate: trying again never helps.",
                remedy: "List the subscriptions, and keep the one that is there, or delete it first. Use the same "
                    + "ID at each start of the app.")
        case .subscriptionNotFound:
            Row(
                [.notFound], framework: 11, "Subscription not found", evidence: .reported,
                cause: "The user has no subscription with this ID in this database, or it fired once and ended.",
                remedy: "List the subscriptions. Create it if the app needs it.")
        case .collapseIDRefused:
            Row(
                [.badRequest], framework: 12, "cannot add collapseId to this subscription type", evidence: .measured,
                cause: "Only query subscriptions have a collapseIDKey; subscriptions of zones and databases don't.",
                remedy: "Leave collapseIDKey out of the notificationInfo.")
        case .subscriptionInProduction:
            Row(
                [], framework: 12, "attempting to create a subscription in a production container",
                evidence: .reported,
                cause: "Production can't create the subscription: an index of its query is not deployed, or the "
                    + "build's push environment is development.",
                remedy: "Deploy the QUERYABLE indexes of the predicate's fields and the type itself. Try with a "
                    + "TestFlight build. A database subscription needs no index.")

        // MARK: CloudKit: accounts and credentials
        case .noAuthMethod:
            Row(
                [.authenticationFailed], framework: 9, "no auth method found", evidence: .reported,
                cause: "The request has no credentials that this container and environment know, or its signature "
                    + "is wrong. All mistakes of a signature give this text.",
                remedy: "Send ckAPIToken, or the three headers of a signed request. If Skylight answered, the page "
                    + "of the request names the mistake.")
        case .signInRequired:
            Row(
                [.authenticationRequired], framework: 9, "request needs authorization", evidence: .reported,
                cause: "The request needs a user, and has none, or the sign-in has ended.",
                remedy: "Sign in at redirectURL and send ckWebAuthToken.")
        case .privateDenied:
            Row(
                [.accessDenied], framework: 10, "private db access disabled for this account", evidence: .reported,
                cause: "A server-to-server key acts for no user: it works in the public database alone. With a "
                    + "user's token: the account has no CloudKit data for this container.",
                remedy: "With a key, use the public database, or ckWebAuthToken of a user. With an account, use "
                    + "the app on a device once, or another account.")
        case .notPermitted:
            Row(
                [.accessDenied], framework: 10, "{permission} operation not permitted", evidence: .reported,
                cause: "The security roles of the type, or the share, don't grant this to the caller. A new record "
                    + "counts as CREATE, a changed or deleted one as WRITE.",
                remedy: "Grant CREATE, READ or WRITE to a role of the caller, and deploy. _world is everyone, "
                    + "_icloud is every signed-in user, _creator who created the record. In a share, the guest "
                    + "needs READ_WRITE.")
        case .badBundle:
            Row(
                [], framework: 10, "Invalid bundle ID for container", evidence: .apple,
                cause: "The app's bundle identifier may not use the container.",
                remedy: "Add the container to the app identifier in the developer account, and build with that "
                    + "profile. New identifiers take some minutes.")
        case .badContainer:
            Row(
                [], framework: 5, "Couldn't get container configuration from the server for container{detail}",
                evidence: .reported,
                cause: "The server does not know the container: it was just created, is spelled differently, or "
                    + "the build lacks the entitlement. CKContainer.default() in an extension names the "
                    + "extension's own.",
                remedy: "Compare the name with the developer account, name the container in code, and wait some "
                    + "minutes after creating it.")
        case .accountMissing:
            Row(
                [], framework: 9, "This request requires an authenticated account", evidence: .apple,
                cause: "No iCloud account is signed in on the device or simulator.",
                remedy: "Sign in to iCloud in the settings. In the app, check accountStatus, and continue when "
                    + "CKAccountChanged is posted.")
        case .deniedBySettings:
            Row(
                [], framework: 9, "CloudKit access was denied by user settings", evidence: .apple,
                cause: "The user has switched iCloud off for this app, or for iCloud Drive.",
                remedy: "Tell the user where the switch is: Settings, the name, iCloud. Keep working with the "
                    + "local copy.")
        case .badAuthToken:
            Row(
                [], framework: 36, "Account temporarily unavailable due to bad or missing auth token",
                evidence: .reported,
                cause: "The account is signed in but must be confirmed, often with its password.",
                remedy: "Keep the local copy, start nothing new, and continue when CKAccountChanged is posted. On "
                    + "a simulator, sign in again.")
        case .termsToAccept:
            Row(
                [], framework: 36, "because the account needs to verify new terms or is in suspended mode",
                evidence: .apple,
                cause: "The user must accept new iCloud terms, or the account is suspended.",
                remedy: "Ask the user to open the settings and accept the terms.")
        case .noSigningCertificate:
            Row(
                [], framework: 1, "Couldn't get a signing certificate", evidence: .likely,
                cause: "The device could not get its certificate from Apple. It was a failure of Apple's servers "
                    + "for hours, when it was reported.",
                remedy: "Check the clock of the device and Apple's system status, then retry later.")
        case .userNotFound:
            Row(
                [.notFound, .badRequest], framework: 11, "User not found", evidence: .likely,
                cause: "No user with this address, phone number or record name can be found in the container.",
                remedy: "Users are found only after they used the app and allowed it. Check the address.")
        case .noAccountForCoreData:
            Row(
                [], framework: 9, "Unable to initialize without an iCloud account{detail}",
                "Unable to initialize without a valid iCloud account{detail}", evidence: .apple,
                cause: "Core Data sets up its CloudKit store only with an account (NSCocoaErrorDomain 134400). "
                    + "Without one, the store works locally.",
                remedy: "Nothing to mend in the app. Sign in to iCloud on the device or simulator.")
        case .mirroringNotInitialized:
            Row(
                [], "the mirroring delegate never successfully initialized{detail}", evidence: .apple,
                cause: "Core Data's set-up failed before (NSCocoaErrorDomain 134406), so every export and import "
                    + "fails too.",
                remedy: "Look for the error of the set-up in the same log: it is after these words, or above. "
                    + "Often a type or field is not deployed, or there is no account.")

        // MARK: CloudKit: the server and the network
        case .internalServerError:
            Row(
                [.internalError], framework: 15, "Internal server error", "INTERNAL ERROR", evidence: .reported,
                cause: "CloudKit's server failed. With new containers it was seen for some hours, as Server "
                    + "Rejected Request (15/2000).",
                remedy: "Retry with increasing delays. If it stays: start the app again, save by the console once, "
                    + "and report it with the uuid.")
        case .httpStatus:
            Row(
                [], framework: 6, "Request failed with http status code {status}", evidence: .reported,
                cause: "CloudKit answered without an error of its own: 503 is overload, 401 the account, 500 a "
                    + "failure.",
                remedy: "Wait for the Retry-After of the error, then retry. With 401, sign in again.")
        case .operationThrottled:
            Row(
                [], framework: 7, "Operation throttled by previous server http {status} reply{detail}",
                "Operation throttled by server{detail}", "This operation has been rate limited", evidence: .apple,
                cause: "An earlier answer asked this device to wait, and CloudKit.framework keeps to it without a "
                    + "request.",
                remedy: "Wait for the seconds that the text names. Send fewer, larger operations, and queries only "
                    + "for what changed.")
        case .databaseThrottled:
            Row(
                [.throttled], framework: 7, "Database throttled, retry later", evidence: .apple,
                cause: "The database gets more requests than it takes.",
                remedy: "Wait for retryAfter, which can be more than a day. Pull changes with a token instead of "
                    + "querying.")
        case .daemonUnreachable:
            Row(
                [], framework: 6, "Error connecting to CloudKit daemon{detail}", evidence: .apple,
                cause: "The app can't reach the system's CloudKit process: the sandbox or an entitlement keeps it "
                    + "from that, or the process just ended.",
                remedy: "Check the iCloud entitlements and, on macOS, the sandbox: only signed builds with a "
                    + "profile get them. Otherwise retry.")
        case .itemsFailed:
            Row(
                [], framework: 2, "Failed to modify some records", "Failed to modify some record zones",
                "Failed to fetch some records", "Failed to fetch some share info",
                "Couldn't fetch some items when fetching changes{detail}", evidence: .apple,
                cause: "The operation ran, and some of its items failed.",
                remedy: "Read the errors of the items, in CKPartialErrorsByItemIDKey. The one that is not "
                    + "batchRequestFailed is the cause.")

        // MARK: Skylight: the shape of requests
        case .wrongFieldValue:
            Row(
                [.badRequest], "Unknown type '{type}' of field '{field}'",
                "Invalid value of 'type' of field '{field}', expected a string",
                "Invalid value of '{name}' in location field '{field}', expected a number",
                "Invalid location in field '{field}': latitude must be {detail}",
                "Invalid value of 'timestamp' in location field '{field}', expected type TIMESTAMP",
                "Invalid reference in field '{field}': 'recordName' is missing",
                "Invalid action of the reference in field '{field}', expected NONE, DELETE_SELF or VALIDATE",
                "Invalid asset in field '{field}': {detail}",
                "Invalid value, expected a number that is finite. Field: '{field}'",
                cause: "A field of the record has a value that its type does not allow.",
                remedy: "Send {\"value\": …, \"type\": …} as in the protocol's types of fields. The text names the "
                    + "field and what it expects.")
        case .wrongName:
            Row(
                [.badRequest], "Invalid {kind}: {rule}", "Invalid {kind} '{name}': {rule}",
                cause: "A name of a zone, record, type or field breaks a rule.",
                remedy: "Change the name: the text has the rule. docs/schema.md has all of them.")
        case .wrongPath:
            Row(
                [.badRequest, .notFound], "Malformed path: '{part}' is not percent-encoded UTF-8",
                "No service at this path; expected {path}", "Invalid container '{name}': expected {rule}",
                "Invalid environment '{name}', expected development or production",
                "Invalid database '{name}', expected public, private or shared", "This path has no database",
                "There is no service '{name}'",
                "There is no service '{name}' under /skylight/1; expected one of {names}",
                cause: "The address names no service: a part is missing, misspelled or not encoded.",
                remedy: "Compare it with /database/1/{container}/{environment}/{database}/{entity}/{action}. "
                    + "openapi.json has all addresses.")
        case .wrongMethod:
            Row(
                [.badRequest], "Method {method} is not allowed: {detail}",
                cause: "The service exists, and takes another method.",
                remedy: "Use one of the methods in the Allow header.")
        case .nothingHere:
            Row(
                [.notFound], "There is nothing at this address",
                "The console is at the server's own address, not at '{name}'",
                cause: "The server has neither a service nor a page there.",
                remedy: "Check the address for a missing or doubled part.")
        case .tooManyParts:
            Row(
                [.badRequest], "Too many filters or sorts: {detail}", "Too many additionalFields: {detail}",
                "Too many subscriptions: {detail}",
                cause: "The request, or the user, has more items than the limit in the text.",
                remedy: "Send the rest in another request, or delete what is not needed.")
        case .limitReached:
            Row(
                [.badRequest], "{subject}, which is the limit{detail}",
                "'{part}' has {count} bytes, and the limit is {limit}",
                "'{part}' has {count} names, and the limit is {limit}",
                "The name of a field in 'notificationInfo' has {count} bytes, and the limit is {limit}",
                "The subscription has {count} bytes, and the limit is {limit}",
                "The limit of a schema's text is {detail}",
                cause: "The server keeps a bounded number of these.",
                remedy: "Delete or revoke some first, or make it shorter. The text has the limit.")
        case .sameRecordInBatch:
            Row(
                [.badRequest],
                "The record '{name}' appears in two operations of one request; send one operation per record",
                cause: "One request changes a record twice.",
                remedy: "Merge the changes of each record into one operation.")
        case .recordOverLimit:
            Row(
                [.badRequest],
                "The record is too large: its fields have {count} bytes, and the limit is {limit} without assets; move large values into assets",
                cause: "A record may have 1 MB without its assets.",
                remedy: "Put large values into an asset.")
        case .typeOfRecordChanged:
            Row(
                [.badRequest], "The record '{name}' has type '{type}', which can't be changed to '{other}'",
                cause: "A record keeps its type for ever.",
                remedy: "Delete the record and create it again, or use another name.")
        case .systemField:
            Row(
                [.badRequest], "Field '{field}' is a system field and can't be set",
                cause: "System fields such as creation and modification are set by the server.",
                remedy: "Leave the field out of the save.")
        case .unknownSystemField:
            Row(
                [.badRequest], "Unknown system field '{name}' in '{place}'; known are {names}",
                cause: "Names that start with ___ belong to CloudKit.",
                remedy: "Use one of the names in the text.")
        case .newFieldWithoutType:
            Row(
                [.badRequest],
                "Field '{field}' is new and its empty list has no type; send a type such as STRING_LIST",
                "Field '{field}' is new and its encrypted value has no type; send a type such as STRING beside isEncrypted",
                cause: "A just-in-time schema takes a field's type from its first value.",
                remedy: "Send the type, or save the field first with a value.")
        case .notEncryptable:
            Row(
                [.badRequest], "Field '{field}' of type {type} can't be encrypted",
                cause: "References, assets and lists of them are never encrypted.",
                remedy: "Leave isEncrypted out, or keep the text in a field of another type.")
        case .tooManyBytes:
            Row(
                [.badRequest], "The records before this one fill the answer{detail}",
                cause: "A response has a limit in bytes, and this record does not fit behind the others.",
                remedy: "Look it up in another request, or ask for fewer fields with desiredKeys.")
        case .wrongMarker:
            Row(
                [.badRequest], "Invalid continuationMarker: {detail}",
                cause: "A continuationMarker belongs to one query, with its type, filters, sorts and zone.",
                remedy: "Send it unchanged with the same query, or run the query again from its first page.")
        case .wrongSort:
            Row(
                [.badRequest], "Field '{field}' is not a LOCATION and can't be sorted by relativeLocation",
                cause: "Only locations have a distance.",
                remedy: "Sort by the field itself, or use a LOCATION field.")
        case .comparatorOfType:
            Row(
                [.badRequest], "Comparator {comparator} on field '{field}' of type {type} {rule}",
                cause: "The comparator does not exist for the field's type.",
                remedy: "Use one that the type has: docs/queries.md has the table.")
        case .indexBeingBuilt:
            Row(
                [.tryAgainLater],
                "The index {index} of field '{field}' is being built ({percent} %); try again later",
                cause: "The index was just added, and old records are being entered.",
                remedy: "Try again after retryAfter seconds.")
        case .indexPending:
            Row(
                [.tryAgainLater, .badRequest, .internalError, .quotaExceeded],
                "The index is declared and will be built later: {detail}",
                "The store is closing; the index will be built when it is opened again",
                "The schema was changed, and its indexes are being built, but the progress is unknown: {detail}",
                cause: "The schema is changed, but the index is not built yet.",
                remedy: "Nothing has to be repeated: queries that need the index work when it is built.")

        // MARK: Skylight: records, references and zones
        case .referenceAcrossZones:
            Row(
                [.badRequest],
                "The reference in field '{field}' has action {action} and points into another zone; only NONE is allowed",
                "The parent '{name}' is in the zone '{zone}'; a parent is in the zone of its record. {detail}",
                cause: "Only references without an action reach into other zones. A parent and its children are in "
                    + "one zone.",
                remedy: "Use the action NONE, or save both records in one zone.")
        case .referenceLimit:
            Row(
                [.badRequest],
                "The record '{name}' already is the target of {count} DELETE_SELF references, which is the limit",
                cause: "CloudKit allows 750 references with DELETE_SELF to one record.",
                remedy: "Put records between, or use references with the action NONE.")
        case .referenceTargetMissing:
            Row(
                [.validatingReferenceError],
                "The reference in field '{field}' has action VALIDATE and its target '{name}' does not exist",
                "The parent '{name}' does not exist in the zone; save it first, or in the same request",
                cause: "The record that is referred to is not there.",
                remedy: "Save it first, or in the same request.")
        case .hasChildren:
            Row(
                [.validatingReferenceError],
                "The record '{name}' is the parent of {child}; delete its children first, or in the same request",
                cause: "A parent can't be deleted before its children.",
                remedy: "Delete the children first, or in the same request.")
        case .zoneRules:
            Row(
                [.badRequest, .accessDenied, .notFound],
                "Custom zones exist in private databases only; the public database has the default zone",
                "The default zone can't be created or deleted", "The zone '{name}' belongs to another user",
                "Only the owner of a zone can create or delete it, in the owner's private database",
                "The zone is not shared with this user", "Only custom zones of a private database can be shared",
                "A zone can't be shared with its owner",
                cause: "The zone can't be created, deleted or shared there.",
                remedy: "Custom zones are made by their owner, in the private database. Guests reach them in the "
                    + "shared database.")
        case .zoneWithoutOwner:
            Row(
                [.zoneNotFound], "Zone does not exist. In the shared database a zoneID needs its ownerRecordName",
                cause: "The shared database has zones of several owners, so a name alone is not enough.",
                remedy: "Send the zoneID as zones/list gives it, with ownerRecordName.")
        case .zoneLeaving:
            Row(
                [.zoneBusy],
                "Records are leaving the part of the zone that is shared with you; try again in a moment",
                cause: "A hierarchy is being unshared.",
                remedy: "Try again after retryAfter seconds.")
        case .changeNotKept:
            Row(
                [.notFound, .badRequest],
                "No change of the record '{name}' at position {position} is kept; {detail}",
                "The change at position {position} deleted the record '{name}'; restore an earlier version",
                cause: "The journal has no such version to go back to.",
                remedy: "Choose another version on the record's history page.")
        case .stateNotKnown:
            Row(
                [.notFound, .badRequest],
                "The state of the record '{name}' at position {position} is not known; {detail}",
                "The state of the zone '{name}' at position {position} is not known; {detail}",
                "Position {position} is later than the latest change, which has position {stored}",
                "The token is from an unfinished pull, so its client has the state of no single position; use the token of the last page",
                cause: "The earlier state can't be read from what is kept, or there is none.",
                remedy: "Choose a later point: docs/as-of.md says what is known.")
        case .mirrorRules:
            Row(
                [.badRequest, .conflict, .notFound],
                "Records of a mirror are shared in the container that it mirrors",
                "The zone '{name}' has records of its own; mirror into a container without it",
                "The record '{name}' has no edit in conflict",
                "The record '{name}' changed meanwhile, here or in the origin; look at its versions again",
                "The field '{field}' of type '{type}' is {value} in the origin and {stored} in the mirror's schema",
                cause: "The database is a mirror of a container in iCloud, and the request does not fit it.",
                remedy: "docs/mirror.md says what a mirror takes.")
        case .containerState:
            Row(
                [.notFound, .exists, .tryAgainLater, .badRequest], "There is no container {name}",
                "The container '{name}' is being deleted or renamed",
                "The container '{name}' already exists; choose another name",
                "The container '{name}' differs only in case from '{other}', which exists; use the existing name",
                "{name} is there already; delete it there, or choose another place",
                cause: "The container is not there, is there twice, or is being changed.",
                remedy: "Check its name on the start page. Containers are made by the first save, or on the start "
                    + "page.")

        // MARK: Skylight: sharing
        case .alreadyShared:
            Row(
                [.badRequest], "The record is already shared, and can't be in two shares",
                "The zone has a share of this name, which shares another record",
                "The zone or a part of it is already shared: {detail}",
                "The record '{name}' can't have a share: it has a parent, and its parent has a share{detail}",
                "The record '{name}' can't be shared: it is a parent, and one of its children has a share{detail}",
                cause: "A record is in one share at most: by itself, by its parent, by its children, or by its "
                    + "zone. CloudKit.framework reports alreadyShared.",
                remedy: "Fetch the share that exists and add the participants, or stop it first.")
        case .shareRules:
            Row(
                [.badRequest, .accessDenied], "The record '{name}' shares its zone; leave out 'forRecord'",
                "The permission of a participant of the type {role} is {detail}",
                "A share can't have more than {limit} participants, with its owner",
                "Only the owner or an administrator can change the participants and permissions of a share",
                "The user is not invited to the share, and it is not open to everybody with the link",
                "The owner of a share can't accept it",
                "'forRecord', 'publicPermission' and 'participants' belong to records of type '{type}', not '{other}'",
                "'forRecord' names the record '{name}' in the zone '{zone}'; {detail}",
                "Only records in custom zones of a private database can be shared", "A share can't have a parent",
                "The reference in field '{field}' has action DELETE_SELF; in the root of a share, only its owner may save that. Use NONE",
                cause: "The share breaks a rule of sharing.",
                remedy: "docs/sharing.md has the rules. The text says which one.")
        case .unknownShare:
            Row(
                [.notFound, .badRequest], "There is no share of this shortGUID", "Invalid 'shortGUID': {detail}",
                cause: "The link is of no share of this server: it was stopped, or copied incompletely.",
                remedy: "Ask the owner for the link anew. A shortGUID is the last part of the link.")
        case .shareBusy:
            Row(
                [.tryAgainLater], "Others are changing the share of the zone at the same time; try again",
                cause: "Several requests change one share.",
                remedy: "Try again after retryAfter seconds.")

        // MARK: Skylight: assets
        case .assetReceipt:
            Row(
                [.badRequest], "The asset in field '{field}' has no receipt: {detail}",
                "The receipt of the asset in field '{field}' {detail}",
                "'fileChecksum' and 'size' of the asset in field '{field}' do not match the upload; {detail}",
                "The file of the asset in field '{field}' is no longer on the server; upload it again",
                cause: "An asset is saved with the receipt of its upload. A receipt is good once, for the field, "
                    + "record and user it was made for, and for a limited time.",
                remedy: "Upload the file with assets/upload and save the value that the upload returns. For the "
                    + "file of another record, use assets/rereference.")
        case .assetSource:
            Row(
                [.badRequest, .notFound], "The field '{field}' of the record '{name}' has no asset",
                "Field '{field}' of the record '{name}' is a list of {count} assets; choose one with 'index', from 0",
                "Field '{field}' of the record '{name}' has no asset at index {index}",
                "No asset with the fileChecksum {checksum} is stored",
                "The record '{name}' has no asset in its field '{field}'",
                cause: "assets/rereference names a file that the record does not have.",
                remedy: "Look the record up, and use the field and index that it has.")
        case .assetAddress:
            Row(
                [.notFound, .badRequest], "There is no such upload; get an upload URL with assets/upload",
                "Nothing can be uploaded here: {detail}", "There is no file at this address: {detail}",
                "There is nothing at this address; expected /assets/{detail}",
                "The upload URL has expired: {detail}", "The download URL has expired. {detail}",
                "The asset is no longer stored, because no record refers to it",
                "'{address}' is not the address of an asset on the server at {server}",
                cause: "Addresses of files are good for a limited time, and for this server alone.",
                remedy: "Fetch the record again for a new downloadURL, or ask assets/upload for a new address.")
        case .assetTooLarge:
            Row(
                [.quotaExceeded],
                "The asset is larger than {limit} bytes, the limit of this server (--asset-size-limit)",
                cause: "The file is larger than the server takes.",
                remedy: "Send a smaller file, or start the server with a higher --asset-size-limit.")
        case .uploadIncomplete:
            Row(
                [.badRequest, .tryAgainLater],
                "The upload ended early, after {count} of {size} bytes; send the file again",
                "Another server is removing files; send the file again", "The store was closed; send the file again",
                cause: "The file did not arrive whole.",
                remedy: "Send the file again, to the same address.")
        case .assetDamaged:
            Row(
                [.internalError], "The asset's file is missing or was changed on the server's disk; {detail}",
                "The file of the asset is not in the asset store; {detail}",
                cause: "The file on the server's disk is not the one that was uploaded.",
                remedy: "Run skylight assets verify, and restore the file from a backup.")
        case .multipartBody:
            Row(
                [.badRequest], "Content-Type is multipart/form-data without a valid boundary: {detail}",
                "The multipart/form-data body {detail}", "The file of the multipart/form-data body {detail}",
                "The headers of a part of the multipart/form-data body {detail}",
                "X-Skylight-File-Name must be {detail}",
                cause: "The body of an upload is not what its Content-Type says.",
                remedy: "Send the bytes of the file as the body, without multipart, as CloudKit's clients do.")
        case .fileConditions:
            Row(
                [.conflict, .badRequest], "The file does not match If-Match or If-Unmodified-Since; fetch it again",
                "The file has {size} bytes, and none in the requested range",
                cause: "The conditions or the range of the request do not fit the file.",
                remedy: "Fetch the file without them.")
        case .assetUpkeep:
            Row(
                [.tryAgainLater, .internalError], "The assets are being verified or swept; try again later",
                "The connection to {server} was lost before the verification finished",
                "The connection to {server} was lost before the sweep finished",
                cause: "One verification or sweep runs at a time, and it needs its connection.",
                remedy: "Try again later.")

        // MARK: Skylight: schema and roles
        case .schemaEdit:
            Row(
                [.badRequest], "The type '{type}' can't be deleted: {detail}",
                "The type 'Users' belongs to the system and can't be deleted", "Did not find role: {role}",
                "The type '{type}' has no {index}",
                "The field 'roles' of 'Users' belongs to the system and can't be deleted",
                "The field '{field}' of '{type}' belongs to CloudKit and can't be deleted",
                "The role '{role}' can't be deleted: {detail}",
                "The type '{type}' has a grant for the role '{role}', which does not exist; add the role first",
                "Field '{field}' of type '{type}' has type {stored}, which can't be changed to {value}",
                "Field '{field}' of type {type} can't be {index}; {detail}",
                "Field '{field}' of type {type} can't be compared with EQUALS",
                "Field '{field}' of type {type} can't be sorted by",
                "The type '{type}' needs at least one grant; {detail}", "A composite index {detail}",
                "The role '{role}' is built in",
                cause: "The change of the schema is not possible.",
                remedy: "The text says what is in the way. docs/schema.md has the rules.")
        case .schemaPlan:
            Row(
                [.badRequest, .accessDenied], "The schema can't be deployed, {detail}",
                "The file can't be merged: {detail}", "The file can't be imported, {detail}",
                "The import would delete data: {detail}", "The schema can't be read: {detail}",
                "A schema is deployed to production; edit the development schema directly",
                "A reset deletes all records of all users in development; {detail}",
                cause: "The plan would lose something, or a confirmation is missing.",
                remedy: "Look at the preview first (dryRun). Correct the file or development, or allow the loss.")
        case .productionIsFixed:
            Row(
                [.accessDenied],
                "The production schema can't be edited; change the development schema and deploy it",
                "Production can't be reset; only development can",
                "A schema is imported only into development; import it there, then deploy it",
                cause: "Production changes by deployment alone.",
                remedy: "Change development, and deploy.")
        case .rolesAreTheOwners:
            Row(
                [.accessDenied],
                "WRITE operation not permitted. Field '{field}' of type '{type}' has the roles of a user: {detail}",
                cause: "A user could give themselves any role.",
                remedy: "Set roles in the console or on the command line.")

        // MARK: Skylight: subscriptions and notifications
        case .subscriptionRules:
            Row(
                [.badRequest], "Subscriptions of the type {kind} exist in {places}",
                "Only notifications of query subscriptions carry additionalFields",
                "A notification can't carry the field '{field}' of type {type}",
                cause: "The subscription asks for what its type does not have.",
                remedy: "docs/subscriptions.md has the types and what they carry.")
        case .notificationToken:
            Row(
                [.notFound],
                "The user has no such apnsToken here, or it has expired; ask tokens/create for another one",
                cause: "Tokens belong to one user and environment, and expire.",
                remedy: "Call tokens/create, then tokens/register.")
        case .notificationGone:
            Row(
                [.notFound, .badRequest], "The log has this notification no longer",
                "The log keeps no notifications", "The notification was not sent, so it can't be sent again",
                "The device's token has expired, so the notification can't be sent again",
                cause: "The notification can't be sent again.",
                remedy: "Save the record once more, or register the device again.")

        // MARK: Skylight: key-value stores
        case .keyValueRules:
            Row(
                [.badRequest, .quotaExceeded], "A {scope} database has no key-value store; {detail}",
                "This token is of a key-value store; {detail}", "A key is empty; {detail}",
                "The key '{key}…' has {count} bytes of UTF-8, {detail}", "The value of '{key}' has {detail}",
                "The key-value store would have {detail}", "The values of the key-value store would have {detail}",
                cause: "The key-value store has limits for keys, values and their sum, as iCloud's has.",
                remedy: "Use shorter keys and smaller values; keep the rest in records.")

        // MARK: Skylight: users, keys and sign-in
        case .administratorOnly:
            Row(
                [.authenticationFailed], "Only the administrator may do this. {detail}",
                cause: "The service is the administrator's, and the request has no proof of that.",
                remedy: "Send the administrator's password, or run the command on the server's own machine.")
        case .administratorPassword:
            Row(
                [.badRequest, .authenticationFailed], "The administrator's password must have at {rule}",
                "Setting the administrator's password takes {detail}",
                cause: "The password breaks a rule, or is set without a proof.",
                remedy: "The text has the rule.")
        case .triesLimited:
            Row(
                [.throttled, .tryAgainLater], "Too many wrong passwords; wait, then send the right one",
                "Too many sign-ins came from your address; wait a moment, then try again",
                "Too many users were created {detail}",
                "Too many passwords are being checked; try again in a moment",
                cause: "Sign-ins and passwords are limited, against guessing.",
                remedy: "Wait for retryAfter seconds.")
        case .userLimits:
            Row(
                [.badRequest], "There are {count} users, and sign-ins create users only up to {limit}: {detail}",
                cause: "Sign-ins create a limited number of users.",
                remedy: "Choose an existing user, or delete some on the page Users.")
        case .userRules:
            Row(
                [.badRequest, .exists, .notFound], "'displayName' is empty; a user needs a name",
                "The user '{name}' already has the e-mail address {address}; use another one",
                "'{name}' is the handle of a server-to-server key's user; choose another handle",
                "The server's administrator deleted the user '{name}'; choose another name",
                "The name of the {kind} {detail}", "'{address}' is not an e-mail address; {detail}",
                "There is no user '{name}'; {detail}", "The user 'developer' can't be deleted: {detail}",
                "'{name}' is the user of the server key {key}, which is active; revoke the key first",
                "The user's handle {detail}", "'userRecordName' is {detail}",
                cause: "The user is not there, or the name or address can't be used.",
                remedy: "The page Users has all users and their names.")
        case .peopleNeedAUser:
            Row(
                [.accessDenied],
                "Discovering users needs a signed-in user, with ckWebAuthToken; a server-to-server key is not enough",
                cause: "People are found by users alone.",
                remedy: "Sign in, and send ckWebAuthToken.")
        case .signInEnded:
            Row(
                [.authenticationRequired],
                "{reason}. The sign-in of {place} has ended; sign in again with skylight connect {container}",
                cause: "iCloud no longer knows the connection's web auth token.",
                remedy: "Sign in again with skylight connect, or in the console.")
        case .signInState:
            Row(
                [.badRequest], "The API token of this sign-in was revoked; sign in again with another",
                "The web auth token is empty, or is none",
                cause: "The sign-in does not hold any longer.",
                remedy: "Sign in again.")
        case .credentialUnknown:
            Row(
                [.notFound], "There is no API token '{id}'; {detail}", "There is no server key '{id}'; {detail}",
                "There is no sign-in session '{id}'; {detail}",
                cause: "The ID is of no token, key or session of this server.",
                remedy: "List them first, with skylight tokens or keys, and use an ID of the list.")
        case .tokenMade:
            Row(
                [.exists], "The API token '{id}' is created already",
                cause: "The form of a new token was sent twice.",
                remedy: "Use the token that it made, or create another on the page Keys.")
        case .keyRevoked:
            Row(
                [.badRequest], "The key {key} was revoked in {place}, permanently; create a new key pair",
                cause: "A revoked key never works again.",
                remedy: "Make a new key pair, and register it.")
        case .twoCredentials:
            Row(
                [.badRequest], "The request has two kinds of credentials, and only one is allowed: {detail}",
                cause: "A request is signed, or has tokens, never both.",
                remedy: "Leave one of them out.")
        case .publicKeyText:
            Row(
                [.badRequest], "The key is empty: {detail}",
                "The key is longer than {limit} bytes, so it is not a P-256 key: {detail}",
                "The key is not PEM: {detail}", "This is the private key; {detail}",
                "This is the name of a curve, not a key: {detail}", "This is a certificate: {detail}",
                "This is a certificate request: {detail}",
                "This is an RSA key, and requests are signed with P-256: {detail}",
                "'BEGIN {label}' is not a public key: {detail}",
                cause: "The text is not the public key of a P-256 key pair.",
                remedy: "Register what openssl ec -in eckey.pem -pubout prints.")
        case .tokenOrigins:
            Row(
                [.badRequest], "An API token may list {limit} origins, not {count}",
                "'{text}' is not an origin: {detail}", "'{text}' is not a callback address: {detail}",
                "The callback '{text}' {detail}",
                cause: "The origins or the callback of an API token can't be used.",
                remedy: "An origin is scheme, host and a port, as in https://example.com.")
        case .savedThings:
            Row(
                [.badRequest], "The name of a saved query {detail}",
                "The query is longer than {limit} bytes and can't be saved",
                cause: "A saved query has limits.",
                remedy: "Use a shorter name or query.")
        case .clientHeader:
            Row(
                [.badRequest], "Expected X-Skylight-Access to be owner or anonymous, found '{value}'",
                "The device in X-Skylight-Device contains {detail}", "The deviceID of the caller contains {detail}",
                cause: "A header of Skylight's own has a value that it does not take.",
                remedy: "Send one of the values in the text, or leave the header out.")
        case .rehearsalRules:
            Row(
                [.badRequest, .accessDenied], "'{name}' takes no user: {detail}",
                "'{name}' takes no client: {detail}", "'minutes' is a whole number from {detail}",
                "'{name}' takes no count: {detail}", "'{name}' is a one-time event and can't be {detail}",
                "'{name}' is not a one-time event; start and stop it", "'{name}' needs a zone: {detail}",
                "'{name}' takes no database and no zone: {detail}", "'{name}' takes no 'every' and no 'code': {detail}",
                "'{name}' takes no '{part}': {detail}", "'every' is a whole number from {detail}",
                "An item can't fail with '{code}'; choose one of {names}",
                "The {what} of '{name}' must be a whole number, {detail}",
                "The count of '{name}' {detail}", "There is no rehearsal '{name}'; choose one of {names}",
                "X-Skylight-Rehearse affects only its own request: {detail}",
                "'{name}' is about notifications, which belong to no request: {detail}",
                "'{name}' can't be rehearsed on a request that is passed on to iCloud; choose one of {names}",
                "Rehearsals are allowed only for clients on the server's own machine, without a proxy; use an SSH tunnel",
                cause: "The rehearsal is not there, or is called in another way than it works.",
                remedy: "docs/rehearsals.md has all of them.")
        case .rehearsed:
            Row(
                [.zoneBusy, .throttled, .tryAgainLater, .internalError], "Zone is busy; this is a rehearsal",
                "The record could not be saved; this is a rehearsal",
                "Request was throttled; this is a rehearsal", "The service is not available; this is a rehearsal",
                cause: "A rehearsal is on: the server fails on purpose.",
                remedy: "The client should wait for retryAfter seconds and retry. Stop the rehearsal on the page "
                    + "Rehearsals.")

        // MARK: Skylight: the server
        case .busy:
            Row(
                [.tryAgainLater], "Too many {what} are waiting{detail}", "The server is busy; try again in a moment",
                "The server has no memory for more large requests and responses (skylight serve --transfer-memory); try again in a moment",
                "The requested records grow while they are read; try again",
                cause: "More requests wait than the server takes at once.",
                remedy: "Try again after retryAfter seconds. docs/throttling.md has the limits.")
        case .overThrottle:
            Row(
                [.throttled], "Request was throttled: more than {limit} requests a second {detail}",
                cause: "The server was started with --throttle, and this caller sends more.",
                remedy: "Wait for retryAfter seconds, and send fewer requests.")
        case .closing:
            Row(
                [.tryAgainLater], "The store is closed", "The store is closing", "The server is stopping",
                cause: "The server is being stopped or restarted.",
                remedy: "Try again when it is back. Nothing was saved.")
        case .openFiles:
            Row(
                [.tryAgainLater],
                "{count} containers are in use, as many as the system's limit of {limit} open files allows. {detail}",
                "The server has {limit} files open, the system's limit. {detail}",
                "Too many files are open, so the server could not {task}; try again",
                cause: "The system allows the server too few open files.",
                remedy: "Try again later, or start the server with a higher limit (ulimit -n).")
        case .diskFull:
            Row(
                [.quotaExceeded], "The disk is full; {detail}",
                cause: "The disk of the server is full.",
                remedy: "Free some space and save again. Nothing of the request was stored.")
        case .databaseAway:
            Row(
                [.tryAgainLater], "The database does not answer ({detail}); {end}",
                "It is not known whether this was saved: {detail}",
                cause: "PostgreSQL does not answer, or the connection to it broke.",
                remedy: "Try again. After ‘it is not known’, look the records up first.")
        case .storeProblem:
            Row(
                [.internalError], "Nothing was saved: {detail}", "The save failed{detail}", "The save was not run",
                "There is no writable folder for temporary files; {detail}",
                "The disk reported an error ({code}); the store is read-only until it is opened again",
                "The store is at position {position}, the last possible one {detail}",
                "The folder of the container '{name}' can't be moved: {detail}",
                "{name} in the data folder {problem}", "{name} beside the container's records {problem}",
                "{name} was written by a newer version of Skylight; use that version",
                "{name} belongs to another program. Move it away", "{name} can't be inspected: {detail}",
                "{name} can't be opened: {detail}", "{name} can't be read ({words}): {detail}",
                "{name} is damaged: {detail}", "{name} can't be written to ({words}); {detail}",
                "The containers can't be listed: {detail}", "The type '{type}' has no number in the store",
                "The store can't store zone {zone} at position {position}", "The stored field '{field}' has no type",
                "The stored fields can't be read: {detail}", "The stored sharing of a record is damaged",
                cause: "A file of the data folder can't be read or written, or is damaged.",
                remedy: "See the server's log, and run skylight check. Restore a backup or a snapshot if a file is "
                    + "damaged.")
        case .serverFailed:
            Row(
                [.internalError], "The server failed; see its log", "The {subject} failed; see the server's log",
                "The server {problem}",
                cause: "A fault of Skylight, or of the machine.",
                remedy: "The server's log has the request's uuid and the fault. Please report it.")
        case .notPossibleHere:
            Row(
                [.badRequest], "This store can't {capability}",
                cause: "The engine that holds the container can't do this.",
                remedy: "Use a container on this machine, or another service.")
        case .trafficGone:
            Row(
                [.notFound], "There is no request '{id}' for 'after': {detail}",
                "There is no request '{id}' in the log, {detail}",
                cause: "The request log keeps a bounded number of requests.",
                remedy: "Start again without ‘after’, or with a later one.")
        case .confirmationMissing:
            Row(
                [.badRequest], "This action needs a confirmation{detail}",
                cause: "The action deletes data.",
                remedy: "Send the confirmation that the text names.")

        // MARK: Skylight: HTTP
        case .hostRefused:
            Row(
                [.accessDenied], "This server does not accept the host '{host}'; {detail}",
                cause: "A request for another host name may come from a web page that was led here.",
                remedy: "Use localhost, or start the server with --allow-host.")
        case .originRefused:
            Row(
                [.accessDenied], "Requests from {origin} are not allowed; {detail}",
                cause: "A web page of another origin sent the request.",
                remedy: "Serve the page from localhost, start the server with --allow-origin, or use an API token "
                    + "that lists the origin.")
        case .malformedRequest:
            Row(
                [.badRequest], "The request target {detail}", "The path of the request target contains {detail}",
                "The Host header is missing", "There is more than one Host header",
                cause: "The head of the request is not valid HTTP, or two programs could read it differently.",
                remedy: "Percent-encode the path, and send one Host header.")
        case .bodyRefused:
            Row(
                [.badRequest], "The request body is larger than {limit} bytes; {detail}",
                "The request body is not valid gzip, as Content-Encoding claims",
                "The request body comes too slowly",
                "The request body is in the coding '{coding}', which is not supported; send gzip or no coding",
                cause: "The body is too large, too slow, or not in the coding that the head names.",
                remedy: "Split the request, or send it without a coding. Limits can be raised when the server is "
                    + "started.")

        // MARK: Skylight: containers in iCloud, and other servers
        case .connectionState:
            Row(
                [.notFound, .badRequest, .exists, .accessDenied], "{container} is not connected in {environment}",
                "{container} is not connected in {environment}; {detail}",
                "Other users can read accounts.sqlite, so {detail}",
                "A key or token has 1 to {limit} bytes, not {count}",
                "There is a container {container} on this machine, which a connection would hide; {detail}",
                "The server needs no sign-in; it is no stand-in for iCloud, {detail}",
                "The server-to-server key can't be used: {detail}",
                "A server-to-server key reaches the public database only; {detail}",
                "{place} is connected read-only, {detail}", "{place} is in iCloud. {detail}",
                "Skylight's services and commands only read {place}, {detail}",
                "{container} is in iCloud, where Skylight can't delete or rename it; {detail}",
                "A container in iCloud can't {capability}: {detail}",
                cause: "The container is in iCloud, and the connection does not allow the request.",
                remedy: "docs/connecting.md says what each kind of connection can do.")
        case .cloudKitAnswer:
            Row(
                [.internalError, .badRequest, .notFound], "CloudKit has no way to {detail}",
                "CloudKit answered {detail}", "CloudKit's answer {detail}",
                "CloudKit sent the field '{field}' of the record '{name}' as {detail}",
                cause: "iCloud's answer has another form than the protocol says.",
                remedy: "Try again; if it stays, leave the field out with desiredKeys and report it.")
        case .cloudKitAway:
            Row(
                [.tryAgainLater, .internalError], "CloudKit did not answer: {detail}",
                cause: "iCloud was not reached, or broke off.",
                remedy: "Check the network, then try again.")
        case .pagesInACircle:
            Row(
                [.internalError], "More pages are coming, but the way to them leads back to an earlier page",
                cause: "iCloud or another server said that more is coming, with a token or marker of an earlier page.",
                remedy: "Try again; if it stays, begin without a token, or report it to those who run the server.")
        case .otherServer:
            Row(
                [.internalError, .tryAgainLater, .badRequest, .accessDenied],
                "The server at {address} is not a Skylight, or has another version: {detail}",
                "The server's responses lack {detail}", "The server's response has {detail}",
                "The server's event stream has {detail}", "'{address}' is not the address of a server; {detail}",
                "The request has {count} bytes, and the limit is {limit}; {detail}",
                "No server answers at {address}: {detail}",
                "The connection to {address} was lost before the response{detail}",
                "'{name}' is not a user record name {detail}",
                "A caller without a name can't use another Skylight; use a user",
                "Another Skylight does not check roles for '{action}', {detail}",
                cause: "This server hands the request on to another Skylight, which can't be reached or answered "
                    + "differently.",
                remedy: "Check that the other server runs, at that address, in the same version.")
        }
    }
}
