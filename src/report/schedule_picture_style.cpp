// The CSS of the picture, for light and dark backgrounds.
#include "report/schedule_picture_style.hpp"

namespace plait::report {

std::string_view css_class(Shade shade) {
  switch (shade) {
    case Shade::forward: return "forward";
    case Shade::loss: return "loss";
    case Shade::backward_data: return "data";
    case Shade::backward_weights: return "weights";
    case Shade::update: return "update";
    case Shade::communicate: return "comm";
    case Shade::other: return "other";
    case Shade::wait: return "wait";
  }
  return "";
}

// Every rule begins with .schedule, so that a page with the picture in it keeps its own colours.
const std::string_view kPictureStyle = R"svg(<style>
.schedule text{font-family:Inter,"Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif;font-size:12.5px;fill:#24292f;font-variant-numeric:tabular-nums}
.schedule .title{font-size:18px;font-weight:600}
.schedule .facts{font-size:14px;font-weight:400;fill:#57606a}
.schedule .small{font-size:11.5px;fill:#57606a}
.schedule .lane text,.schedule .right{text-anchor:end}
.schedule .middle{text-anchor:middle}
.schedule .number{font-size:11px;font-weight:600;text-anchor:middle;pointer-events:none;fill:#1b1f24}
.schedule .paper{fill:#fff}
.schedule .ground{fill:#f3f4f6}
.schedule .tick{stroke:#d0d7de;stroke-width:1}
.schedule .hatch{stroke:#c3cad3;stroke-width:1.5}
.schedule .forward{fill:#0072b2}.schedule .forward.odd{fill:#7fb8de}
.schedule .loss{fill:#2b2f36}.schedule .loss.odd{fill:#80868f}
.schedule .data{fill:#d55e00}.schedule .data.odd{fill:#f2a56b}
.schedule .weights{fill:#e9b100}.schedule .weights.odd{fill:#f7dc86}
.schedule .update{fill:#a2478a}.schedule .update.odd{fill:#d9a0c9}
.schedule .comm{fill:#009e73}.schedule .comm.odd{fill:#7fd1b8}
.schedule .other{fill:#8b949e}.schedule .other.odd{fill:#c4cad1}
.schedule .wait,.schedule .wait.odd{fill:url(#schedule-wait)}
.schedule .on-forward,.schedule .on-loss,.schedule .on-data,.schedule .on-update,.schedule .on-comm{fill:#fff}
.schedule .number.odd{fill:#1b1f24}
@media (prefers-color-scheme:dark){
.schedule text{fill:#e6edf3}
.schedule .facts,.schedule .small{fill:#9da7b3}
.schedule .number,.schedule .number.odd{fill:#0d1117}
.schedule .on-forward,.schedule .on-loss,.schedule .on-data,.schedule .on-update,.schedule .on-comm{fill:#fff}
.schedule .paper{fill:#0d1117}
.schedule .ground{fill:#161b22}
.schedule .tick{stroke:#30363d}
.schedule .hatch{stroke:#3d444d}
.schedule .loss{fill:#4d545e}
}
</style>
<defs><pattern id="schedule-wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>
)svg";

}  // namespace plait::report
