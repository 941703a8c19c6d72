#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct embedded_file files[] = {
    {"admin_sign_in.mustache", (const char[]){
#embed "../../Templates/admin_sign_in.mustache" suffix(, 0)
    }},
    {"advice.mustache", (const char[]){
#embed "../../Templates/advice.mustache" suffix(, 0)
    }},
    {"alone.mustache", (const char[]){
#embed "../../Templates/alone.mustache" suffix(, 0)
    }},
    {"asset_cells.mustache", (const char[]){
#embed "../../Templates/asset_cells.mustache" suffix(, 0)
    }},
    {"asset_file.mustache", (const char[]){
#embed "../../Templates/asset_file.mustache" suffix(, 0)
    }},
    {"asset_table.mustache", (const char[]){
#embed "../../Templates/asset_table.mustache" suffix(, 0)
    }},
    {"bar_chart.mustache", (const char[]){
#embed "../../Templates/bar_chart.mustache" suffix(, 0)
    }},
    {"builds.mustache", (const char[]){
#embed "../../Templates/builds.mustache" suffix(, 0)
    }},
    {"bulk.mustache", (const char[]){
#embed "../../Templates/bulk.mustache" suffix(, 0)
    }},
    {"changed_again.mustache", (const char[]){
#embed "../../Templates/changed_again.mustache" suffix(, 0)
    }},
    {"changes_records.mustache", (const char[]){
#embed "../../Templates/changes_records.mustache" suffix(, 0)
    }},
    {"changes_zones.mustache", (const char[]){
#embed "../../Templates/changes_zones.mustache" suffix(, 0)
    }},
    {"check.mustache", (const char[]){
#embed "../../Templates/check.mustache" suffix(, 0)
    }},
    {"choice.mustache", (const char[]){
#embed "../../Templates/choice.mustache" suffix(, 0)
    }},
    {"clients.mustache", (const char[]){
#embed "../../Templates/clients.mustache" suffix(, 0)
    }},
    {"code_panel.mustache", (const char[]){
#embed "../../Templates/code_panel.mustache" suffix(, 0)
    }},
    {"compare.mustache", (const char[]){
#embed "../../Templates/compare.mustache" suffix(, 0)
    }},
    {"compared_side.mustache", (const char[]){
#embed "../../Templates/compared_side.mustache" suffix(, 0)
    }},
    {"complaint.mustache", (const char[]){
#embed "../../Templates/complaint.mustache" suffix(, 0)
    }},
    {"composite_rows.mustache", (const char[]){
#embed "../../Templates/composite_rows.mustache" suffix(, 0)
    }},
    {"confirm.mustache", (const char[]){
#embed "../../Templates/confirm.mustache" suffix(, 0)
    }},
    {"container.mustache", (const char[]){
#embed "../../Templates/container.mustache" suffix(, 0)
    }},
    {"deploy.mustache", (const char[]){
#embed "../../Templates/deploy.mustache" suffix(, 0)
    }},
    {"diagnosis.mustache", (const char[]){
#embed "../../Templates/diagnosis.mustache" suffix(, 0)
    }},
    {"difference.mustache", (const char[]){
#embed "../../Templates/difference.mustache" suffix(, 0)
    }},
    {"drop_index.mustache", (const char[]){
#embed "../../Templates/drop_index.mustache" suffix(, 0)
    }},
    {"edit_bytes.mustache", (const char[]){
#embed "../../Templates/edit_bytes.mustache" suffix(, 0)
    }},
    {"edit_location.mustache", (const char[]){
#embed "../../Templates/edit_location.mustache" suffix(, 0)
    }},
    {"edit_number.mustache", (const char[]){
#embed "../../Templates/edit_number.mustache" suffix(, 0)
    }},
    {"edit_reference.mustache", (const char[]){
#embed "../../Templates/edit_reference.mustache" suffix(, 0)
    }},
    {"edit_row.mustache", (const char[]){
#embed "../../Templates/edit_row.mustache" suffix(, 0)
    }},
    {"edit_text.mustache", (const char[]){
#embed "../../Templates/edit_text.mustache" suffix(, 0)
    }},
    {"edit_time.mustache", (const char[]){
#embed "../../Templates/edit_time.mustache" suffix(, 0)
    }},
    {"error.mustache", (const char[]){
#embed "../../Templates/error.mustache" suffix(, 0)
    }},
    {"error_card.mustache", (const char[]){
#embed "../../Templates/error_card.mustache" suffix(, 0)
    }},
    {"error_codes.mustache", (const char[]){
#embed "../../Templates/error_codes.mustache" suffix(, 0)
    }},
    {"errors.mustache", (const char[]){
#embed "../../Templates/errors.mustache" suffix(, 0)
    }},
    {"explain.mustache", (const char[]){
#embed "../../Templates/explain.mustache" suffix(, 0)
    }},
    {"facet.mustache", (const char[]){
#embed "../../Templates/facet.mustache" suffix(, 0)
    }},
    {"fetch.mustache", (const char[]){
#embed "../../Templates/fetch.mustache" suffix(, 0)
    }},
    {"fetch_actions.mustache", (const char[]){
#embed "../../Templates/fetch_actions.mustache" suffix(, 0)
    }},
    {"fetching.mustache", (const char[]){
#embed "../../Templates/fetching.mustache" suffix(, 0)
    }},
    {"field_row.mustache", (const char[]){
#embed "../../Templates/field_row.mustache" suffix(, 0)
    }},
    {"first_steps.mustache", (const char[]){
#embed "../../Templates/first_steps.mustache" suffix(, 0)
    }},
    {"history.mustache", (const char[]){
#embed "../../Templates/history.mustache" suffix(, 0)
    }},
    {"home.mustache", (const char[]){
#embed "../../Templates/home.mustache" suffix(, 0)
    }},
    {"import.mustache", (const char[]){
#embed "../../Templates/import.mustache" suffix(, 0)
    }},
    {"importing.mustache", (const char[]){
#embed "../../Templates/importing.mustache" suffix(, 0)
    }},
    {"index_cells.mustache", (const char[]){
#embed "../../Templates/index_cells.mustache" suffix(, 0)
    }},
    {"index_row.mustache", (const char[]){
#embed "../../Templates/index_row.mustache" suffix(, 0)
    }},
    {"index_works.mustache", (const char[]){
#embed "../../Templates/index_works.mustache" suffix(, 0)
    }},
    {"indexes.mustache", (const char[]){
#embed "../../Templates/indexes.mustache" suffix(, 0)
    }},
    {"key_made.mustache", (const char[]){
#embed "../../Templates/key_made.mustache" suffix(, 0)
    }},
    {"keys.mustache", (const char[]){
#embed "../../Templates/keys.mustache" suffix(, 0)
    }},
    {"layout.mustache", (const char[]){
#embed "../../Templates/layout.mustache" suffix(, 0)
    }},
    {"meter.mustache", (const char[]){
#embed "../../Templates/meter.mustache" suffix(, 0)
    }},
    {"no_feed.mustache", (const char[]){
#embed "../../Templates/no_feed.mustache" suffix(, 0)
    }},
    {"nothing_found.mustache", (const char[]){
#embed "../../Templates/nothing_found.mustache" suffix(, 0)
    }},
    {"other_place.mustache", (const char[]){
#embed "../../Templates/other_place.mustache" suffix(, 0)
    }},
    {"others.mustache", (const char[]){
#embed "../../Templates/others.mustache" suffix(, 0)
    }},
    {"picked_deleted.mustache", (const char[]){
#embed "../../Templates/picked_deleted.mustache" suffix(, 0)
    }},
    {"picked_zones.mustache", (const char[]){
#embed "../../Templates/picked_zones.mustache" suffix(, 0)
    }},
    {"picking.mustache", (const char[]){
#embed "../../Templates/picking.mustache" suffix(, 0)
    }},
    {"preview.mustache", (const char[]){
#embed "../../Templates/preview.mustache" suffix(, 0)
    }},
    {"query.mustache", (const char[]){
#embed "../../Templates/query.mustache" suffix(, 0)
    }},
    {"query_form.mustache", (const char[]){
#embed "../../Templates/query_form.mustache" suffix(, 0)
    }},
    {"query_written.mustache", (const char[]){
#embed "../../Templates/query_written.mustache" suffix(, 0)
    }},
    {"record.mustache", (const char[]){
#embed "../../Templates/record.mustache" suffix(, 0)
    }},
    {"record_assets.mustache", (const char[]){
#embed "../../Templates/record_assets.mustache" suffix(, 0)
    }},
    {"record_compare.mustache", (const char[]){
#embed "../../Templates/record_compare.mustache" suffix(, 0)
    }},
    {"record_conflict.mustache", (const char[]){
#embed "../../Templates/record_conflict.mustache" suffix(, 0)
    }},
    {"record_copied.mustache", (const char[]){
#embed "../../Templates/record_copied.mustache" suffix(, 0)
    }},
    {"record_copy.mustache", (const char[]){
#embed "../../Templates/record_copy.mustache" suffix(, 0)
    }},
    {"record_deliveries.mustache", (const char[]){
#embed "../../Templates/record_deliveries.mustache" suffix(, 0)
    }},
    {"record_edit.mustache", (const char[]){
#embed "../../Templates/record_edit.mustache" suffix(, 0)
    }},
    {"record_history.mustache", (const char[]){
#embed "../../Templates/record_history.mustache" suffix(, 0)
    }},
    {"record_history_panel.mustache", (const char[]){
#embed "../../Templates/record_history_panel.mustache" suffix(, 0)
    }},
    {"record_new.mustache", (const char[]){
#embed "../../Templates/record_new.mustache" suffix(, 0)
    }},
    {"record_referrers.mustache", (const char[]){
#embed "../../Templates/record_referrers.mustache" suffix(, 0)
    }},
    {"record_restore.mustache", (const char[]){
#embed "../../Templates/record_restore.mustache" suffix(, 0)
    }},
    {"refresh.mustache", (const char[]){
#embed "../../Templates/refresh.mustache" suffix(, 0)
    }},
    {"refusal.mustache", (const char[]){
#embed "../../Templates/refusal.mustache" suffix(, 0)
    }},
    {"rehearsal.mustache", (const char[]){
#embed "../../Templates/rehearsal.mustache" suffix(, 0)
    }},
    {"rehearsals.mustache", (const char[]){
#embed "../../Templates/rehearsals.mustache" suffix(, 0)
    }},
    {"request.mustache", (const char[]){
#embed "../../Templates/request.mustache" suffix(, 0)
    }},
    {"request_body.mustache", (const char[]){
#embed "../../Templates/request_body.mustache" suffix(, 0)
    }},
    {"request_missing.mustache", (const char[]){
#embed "../../Templates/request_missing.mustache" suffix(, 0)
    }},
    {"requests.mustache", (const char[]){
#embed "../../Templates/requests.mustache" suffix(, 0)
    }},
    {"reset.mustache", (const char[]){
#embed "../../Templates/reset.mustache" suffix(, 0)
    }},
    {"result_files.mustache", (const char[]){
#embed "../../Templates/result_files.mustache" suffix(, 0)
    }},
    {"roles.mustache", (const char[]){
#embed "../../Templates/roles.mustache" suffix(, 0)
    }},
    {"run.mustache", (const char[]){
#embed "../../Templates/run.mustache" suffix(, 0)
    }},
    {"schema.mustache", (const char[]){
#embed "../../Templates/schema.mustache" suffix(, 0)
    }},
    {"schema_changes.mustache", (const char[]){
#embed "../../Templates/schema_changes.mustache" suffix(, 0)
    }},
    {"schema_file_form.mustache", (const char[]){
#embed "../../Templates/schema_file_form.mustache" suffix(, 0)
    }},
    {"shortcuts.mustache", (const char[]){
#embed "../../Templates/shortcuts.mustache" suffix(, 0)
    }},
    {"sign_in.mustache", (const char[]){
#embed "../../Templates/sign_in.mustache" suffix(, 0)
    }},
    {"sign_in_end.mustache", (const char[]){
#embed "../../Templates/sign_in_end.mustache" suffix(, 0)
    }},
    {"signature.mustache", (const char[]){
#embed "../../Templates/signature.mustache" suffix(, 0)
    }},
    {"signed_in.mustache", (const char[]){
#embed "../../Templates/signed_in.mustache" suffix(, 0)
    }},
    {"since.mustache", (const char[]){
#embed "../../Templates/since.mustache" suffix(, 0)
    }},
    {"telemetry.mustache", (const char[]){
#embed "../../Templates/telemetry.mustache" suffix(, 0)
    }},
    {"timeline.mustache", (const char[]){
#embed "../../Templates/timeline.mustache" suffix(, 0)
    }},
    {"token.mustache", (const char[]){
#embed "../../Templates/token.mustache" suffix(, 0)
    }},
    {"token_archive.mustache", (const char[]){
#embed "../../Templates/token_archive.mustache" suffix(, 0)
    }},
    {"token_comparison.mustache", (const char[]){
#embed "../../Templates/token_comparison.mustache" suffix(, 0)
    }},
    {"token_forms.mustache", (const char[]){
#embed "../../Templates/token_forms.mustache" suffix(, 0)
    }},
    {"token_lesson.mustache", (const char[]){
#embed "../../Templates/token_lesson.mustache" suffix(, 0)
    }},
    {"token_made.mustache", (const char[]){
#embed "../../Templates/token_made.mustache" suffix(, 0)
    }},
    {"turned_away.mustache", (const char[]){
#embed "../../Templates/turned_away.mustache" suffix(, 0)
    }},
    {"type.mustache", (const char[]){
#embed "../../Templates/type.mustache" suffix(, 0)
    }},
    {"types.mustache", (const char[]){
#embed "../../Templates/types.mustache" suffix(, 0)
    }},
    {"user.mustache", (const char[]){
#embed "../../Templates/user.mustache" suffix(, 0)
    }},
    {"user_data.mustache", (const char[]){
#embed "../../Templates/user_data.mustache" suffix(, 0)
    }},
    {"user_field.mustache", (const char[]){
#embed "../../Templates/user_field.mustache" suffix(, 0)
    }},
    {"users.mustache", (const char[]){
#embed "../../Templates/users.mustache" suffix(, 0)
    }},
    {"value_asset.mustache", (const char[]){
#embed "../../Templates/value_asset.mustache" suffix(, 0)
    }},
    {"value_code.mustache", (const char[]){
#embed "../../Templates/value_code.mustache" suffix(, 0)
    }},
    {"value_link.mustache", (const char[]){
#embed "../../Templates/value_link.mustache" suffix(, 0)
    }},
    {"value_list.mustache", (const char[]){
#embed "../../Templates/value_list.mustache" suffix(, 0)
    }},
    {"value_long.mustache", (const char[]){
#embed "../../Templates/value_long.mustache" suffix(, 0)
    }},
    {"value_missing.mustache", (const char[]){
#embed "../../Templates/value_missing.mustache" suffix(, 0)
    }},
    {"value_text.mustache", (const char[]){
#embed "../../Templates/value_text.mustache" suffix(, 0)
    }},
    {"value_time.mustache", (const char[]){
#embed "../../Templates/value_time.mustache" suffix(, 0)
    }},
    {"versions.mustache", (const char[]){
#embed "../../Templates/versions.mustache" suffix(, 0)
    }},
    {"zone.mustache", (const char[]){
#embed "../../Templates/zone.mustache" suffix(, 0)
    }},
    {"zone_copy.mustache", (const char[]){
#embed "../../Templates/zone_copy.mustache" suffix(, 0)
    }},
    {"zones.mustache", (const char[]){
#embed "../../Templates/zones.mustache" suffix(, 0)
    }},
    {0, 0},
};

const struct embedded_file *embedded_templates(void) { return files; }
